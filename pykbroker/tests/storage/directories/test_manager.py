"""The log directory: who owns it, which logs are in it, what is written down about them."""

from __future__ import annotations

import errno
import random
import re
from pathlib import Path

import pytest

from pykbroker.runtime.clock import ManualClock
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.real_disk import RealDisk
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, retention_round
from pykbroker.tests.storage.support import START_MS, TOPIC_ID, Store, append, batch, contents
from pykbroker.wire.errors import ErrorCode, KafkaError

OTHER_ID = bytes(range(1, 17))


@pytest.fixture
def store():
    return Store()


def text(store, name):
    return store.disk.read(f"/data/{name}").decode()


def test_meta_properties(store):
    lines = dict(line.split("=", 1) for line in text(store, "meta.properties").splitlines())
    assert lines == {
        "version": "1",
        "node.id": "1",
        "cluster.id": "4L6g3nShT-eMCtK--X86sw",
        "directory.id": store.manager.directory_ids[0],
    }
    assert len(store.manager.directory_ids[0]) == 22
    first = store.manager.directory_ids[0]
    store.start()
    assert store.manager.directory_ids[0] == first


def test_what_others_wrote_into_meta_properties_stays(store):
    store.disk.write("/data/meta.properties", text(store, "meta.properties").encode() + b"# note\nmine=1\nversion=1\n")
    store.start()
    store.disk.write("/data/meta.properties", b"node.id=1\nother=x\n")
    store.start()
    assert "other=x" in text(store, "meta.properties")


@pytest.mark.parametrize(("line", "name"), [("node.id=2", "node.id"), ("cluster.id=other", "cluster.id")])
def test_a_directory_of_another_node_or_cluster(store, line, name):
    store.disk.write("/data/meta.properties", line.encode())
    with pytest.raises(ValueError, match=name):
        store.start()


def test_the_marker_of_a_clean_stop(store):
    store.manager.broker_epoch = 17
    store.stop()
    assert text(store, ".kafka_cleanshutdown") == '{"version":0,"brokerEpoch":17}'
    store.start()
    assert store.manager.clean
    assert not store.disk.exists("/data/.kafka_cleanshutdown")
    store.start()
    assert not store.manager.clean


def test_checkpoints_of_logs_that_are_not_open_are_kept(store):
    for name in ("a", "b"):
        append(store.log(topic=name), batch([b"x"]))
    store.stop()
    store.start()
    append(store.log(topic="a"), batch([b"y"]))
    store.stop()
    assert text(store, "recovery-point-offset-checkpoint") == "0\n2\na 0 2\nb 0 1\n"
    assert text(store, "replication-offset-checkpoint") == "0\n2\na 0 2\nb 0 1\n"
    assert text(store, "log-start-offset-checkpoint") == "0\n0\n"


def test_the_metadata_log_is_not_in_the_checkpoints(store):
    append(store.manager.open("__cluster_metadata", TOPIC_ID, 0, LogConfig()), batch([b"x"]))
    store.stop()
    assert text(store, "recovery-point-offset-checkpoint") == "0\n0\n"


def test_the_recovery_point_is_what_was_flushed(store):
    log = store.log()
    append(log, batch([b"x"]))
    checkpoint_round(store.manager)
    assert text(store, "recovery-point-offset-checkpoint") == "0\n1\nt 0 0\n"
    log.flush()
    checkpoint_round(store.manager)
    assert text(store, "recovery-point-offset-checkpoint") == "0\n1\nt 0 1\n"


def test_a_topic_made_again_begins_empty(store):
    append(store.log(), batch([b"old"]))
    store.stop()
    store.start()
    log = store.manager.open("t", OTHER_ID, 0, LogConfig())
    assert log.log_end_offset == 0
    assert text(store, "t-0/partition.metadata") == "version: 0\ntopic_id: AQIDBAUGBwgJCgsMDQ4PEA"
    (stray,) = [name for name in store.disk.list("/data") if name.endswith("-stray")]
    assert stray.startswith("t-0.")
    assert store.disk.list(f"/data/{stray}")


@pytest.mark.parametrize("seed", range(10))
def test_whose_a_log_is_lasts_with_what_is_flushed_after_a_kill(seed):
    store = Store(seed)
    append(store.log(), batch([b"x"]))
    store.start()
    store.log().flush()
    store.lose_power()
    assert store.topic_id_on_disk() == TOPIC_ID


def test_deleting_and_making_again_while_running(store):
    log = store.log(LogConfig(file_delete_delay_ms=100))
    append(log, batch([b"old"]))
    store.manager.delete(log)
    (doomed,) = [name for name in store.disk.list("/data") if name.endswith("-delete")]
    assert doomed.startswith("t-0.")
    assert len(doomed) == len("t-0.") + 32 + len("-delete")
    new = store.manager.open("t", OTHER_ID, 0, LogConfig())
    assert new.log_end_offset == 0
    append(new, batch([b"new"]))
    assert contents(new) == [(0, b"new")]
    store.clock.advance(100)
    retention_round(store.manager, START_MS)
    assert not store.disk.exists(f"/data/{doomed}")
    assert contents(new) == [(0, b"new")]


@pytest.mark.parametrize("length", [210, 249])
def test_a_long_name_is_cut_when_its_directory_is_put_aside(store, length):
    log = store.manager.open("x" * length, TOPIC_ID, 10, LogConfig())
    append(log, batch([b"old"]))
    store.manager.delete(log)
    (doomed,) = [name for name in store.disk.list("/data") if name.endswith("-delete")]
    assert re.fullmatch(r"x+-10\.[0-9a-f]{32}-delete", doomed)
    assert len(doomed) == min(255, length + len("-10.") + 32 + len("-delete"))


def test_deleting_while_threads_read_and_flush(store):
    log = store.log(LogConfig(segment_bytes=100, file_delete_delay_ms=0))
    for value in (b"x", b"y"):
        append(log, batch([value]))
    read, flush = log.plan_read(0, 100), log.plan_flush()
    store.manager.delete(log)
    retention_round(store.manager, START_MS)
    flush.run()
    with pytest.raises(KafkaError) as caught:
        read.read()
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not store.manager.metadata_directory.offline


def test_deleted_directories_go_at_the_next_start(store):
    store.manager.delete(store.log())
    store.start()
    assert not [name for name in store.disk.list("/data") if name.endswith("-delete")]


def test_opening_twice_is_the_same_log_with_new_settings(store):
    log = store.log()
    assert store.log(LogConfig(segment_bytes=5)) is log
    assert log.config.segment_bytes == 5


def test_time_based_flushes(store):
    log = store.log(LogConfig(flush_ms=1000))
    append(log, batch([b"x"]))
    store.clock.advance(999)
    assert store.manager.due_flushes() == []
    store.clock.set_wall(START_MS - 24 * 3600 * 1000)
    store.clock.advance(1)
    flush_round(store.manager)
    assert log.recovery_point == 1
    store.clock.advance(7000)
    assert store.manager.due_flushes() == []


def test_closed_segments_are_flushed(store):
    log = store.log(LogConfig(segment_bytes=100))
    append(log, batch([b"x"]))
    assert store.manager.due_flushes() == []
    append(log, batch([b"x"]))
    assert store.manager.due_flushes() == [log]
    flush_round(store.manager)
    assert log.recovery_point == 2


def test_flush_by_number_of_messages(store):
    log = store.log(LogConfig(flush_messages=3))
    append(log, batch([b"x", b"y"]))
    assert not log.needs_flush_before_ack
    append(log, batch([b"x"]))
    assert log.needs_flush_before_ack
    log.flush()
    assert not log.needs_flush_before_ack


def test_appends_during_a_flush_are_the_next_ones(store):
    log = store.log()
    append(log, batch([b"x"]))
    plan = log.plan_flush()
    append(log, batch([b"y"]))
    log.roll(START_MS)
    append(log, batch([b"z"]))
    plan.run()
    plan.finish()
    assert log.recovery_point == 1
    log.flush()
    store.lose_power()
    store.start()
    assert [value for _, value in contents(store.log())] == [b"x", b"y", b"z"]
    assert store.log().plan_flush() is not None


def test_a_flush_that_overtakes_another_one_syncs_what_that_has_taken(store):
    log = store.log(LogConfig(segment_bytes=100))
    for value in (b"x", b"y"):
        append(log, batch([value]))
    slow = log.plan_flush()
    append(log, batch([b"z"]), epoch=1)
    log.flush()
    assert log.recovery_point == 3
    store.lose_power()
    store.start()
    log = store.log(LogConfig(segment_bytes=100))
    assert [value for _, value in contents(log)] == [b"x", b"y", b"z"]
    assert log.epochs.entries() == [(0, 0), (1, 2)]
    assert slow.work.end_offset == 2


def test_a_flush_that_fails_for_lack_of_space_is_made_up_for(store):
    log = store.log()
    append(log, batch([b"x"]))
    store.disk.fail = lambda _number, name: OSError(errno.ENOSPC, "full") if "leader-epoch" in name else None
    with pytest.raises(KafkaError):
        log.flush()
    store.disk.fail = None
    assert log.recovery_point == 0
    log.flush()
    store.lose_power()
    store.start()
    assert contents(store.log()) == [(0, b"x")]


def test_a_flush_that_fails_in_an_unforeseen_way_is_made_up_for(store):
    """A new log's directory lasts with its first flush: the next one has to see to that when the first did not."""
    log = store.log()
    append(log, batch([b"x"]))
    store.disk.fail = lambda _number, name: RuntimeError("unforeseen") if name.startswith("sync") else None
    with pytest.raises(RuntimeError):
        log.flush()
    store.disk.fail = None
    log.flush()
    store.lose_power()
    store.start()
    assert contents(store.log()) == [(0, b"x")]


def test_on_real_files(tmp_path: Path):
    def start():
        manager = LogManager(
            tmp_path / "deep" / "data",
            RealDisk(max_open=8),
            ManualClock(START_MS),
            node_id=1,
            cluster_id="c",
            random=random.Random(1),
        )
        manager.load()
        return manager, [manager.open(f"t{n}", TOPIC_ID, n, LogConfig(segment_bytes=2000)) for n in range(5)]

    manager, logs = start()
    for number in range(200):
        for log in logs:
            append(log, batch([b"%d" % number + bytes(50)], timestamp=START_MS + number))
    assert all(len(log.segments) > 8 for log in logs)
    expected = [contents(log) for log in logs]
    assert [len(found) for found in expected] == [200] * 5
    manager, logs = start()
    assert not manager.clean
    assert [contents(log) for log in logs] == expected
    retention_round(manager, START_MS)
    manager.shutdown()
    manager, logs = start()
    assert manager.clean
    assert [contents(log) for log in logs] == expected
    assert logs[0].offset_for_timestamp(START_MS + 77).offset == 77
