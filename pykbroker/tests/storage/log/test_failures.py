"""Disks that fail: what is acknowledged stays, what cannot be known takes the directory offline."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path

import pytest

from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, retention_round
from pykbroker.tests.storage.support import START_MS, Store, append, append_marker, batch, contents
from pykbroker.wire.errors import ErrorCode, KafkaError

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=50)


def failing(error, word):
    return lambda _number, name: OSError(error, "on purpose") if word in name else None


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def log(store):
    log = store.log(SMALL)
    for number in range(10):
        append(log, batch([b"%d" % number]))
    return log


def storage_error(action):
    with pytest.raises(KafkaError) as caught:
        action()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("word", ["write", "create"])
def test_a_full_disk_refuses_appends_and_lets_reads_and_later_appends_go_on(store, log, word, caplog):
    store.disk.fail = failing(errno.ENOSPC, word)
    refused = 0
    for number in range(20):
        before = log.log_end_offset
        try:
            append(log, batch([b"more %d" % number + bytes(50)]))
        except KafkaError as error:
            refused += error.code is ErrorCode.KAFKA_STORAGE_ERROR
            assert log.log_end_offset == before
    assert refused
    assert not store.manager.metadata_directory.offline
    assert len([record for record in caplog.records if "takes no more data" in record.message]) == 1
    expected = contents(log)
    store.disk.fail = None
    append(log, batch([b"again"]))
    assert contents(log) == [*expected, (log.log_end_offset - 1, b"again")]
    for _ in range(3):  # small writes get through, and large ones do not
        error = store.manager.metadata_directory.refused(
            OSError(errno.ENOSPC, "No space left on device"), "the next append"
        )
        assert error.message == "the next append failed: the disk is full (No space left on device)"
        store.manager.metadata_directory.succeeded()
    assert len([record for record in caplog.records if "because the disk is full" in record.message]) == 1
    assert not [record for record in caplog.records if "takes data again" in record.message], "too soon to say so"
    store.clock.advance(3000)
    append(log, batch([b"there is room"]))
    append(log, batch([b"again"]))
    expected = contents(log)[:-1]
    assert len([record for record in caplog.records if "takes data again: there is room" in record.message]) == 1
    store.manager.metadata_directory.refused(OSError(errno.ENOSPC, "full"), "the next append")
    assert len([record for record in caplog.records if "takes no more data" in record.message]) == 2, "full once more"
    store.start()
    assert contents(store.log(SMALL)) == [*expected, (log.log_end_offset - 1, b"again")]


def test_a_batch_of_which_a_full_disk_takes_a_part_is_taken_back(store):
    """Also one that breaks no rule; and the next one is left to ``append_batch``, which says that there is room again."""
    log = store.log()
    append(log, batch([b"first"]), usual=True)
    before = contents(log), log.active.size, log.producers.encode()
    store.disk.fail = failing(errno.ENOSPC, "write")
    storage_error(lambda: log.append_usual(memoryview(batch([bytes(500)])), 0, START_MS))
    assert (contents(log), log.active.size, log.producers.encode()) == before
    assert store.disk.size(log.active.path(".log")) == log.active.size
    store.disk.fail = None
    assert log.append_usual(memoryview(batch([b"second"])), 0, START_MS) < 0
    append(log, batch([b"second"]))
    store.clock.advance(3000)
    append(log, batch([b"third"]))
    assert log.append_usual(memoryview(batch([b"fourth"])), 0, START_MS) == 3
    log.commit_to(log.log_end_offset)
    assert [value for _, value in contents(log)] == [b"first", b"second", b"third", b"fourth"]


def test_own_records_of_which_a_full_disk_takes_a_part_are_taken_back(store):
    """As a client's are; the next ones are left to ``append_batch``, which says that there is room again."""
    log = store.log()
    append(log, batch([b"first"]))
    before = contents(log), log.active.size, log.log_end_offset, log.producers.encode()
    store.disk.fail = failing(errno.ENOSPC, "write")
    storage_error(lambda: log.append_own(batch([bytes(500)]), 1, 0, START_MS))
    assert (contents(log), log.active.size, log.log_end_offset, log.producers.encode()) == before
    assert store.disk.size(log.active.path(".log")) == log.active.size
    store.disk.fail = None
    assert log.append_own(batch([b"second"]), 1, 0, START_MS) < 0
    append(log, batch([b"second"]))
    store.clock.advance(3000)
    append(log, batch([b"third"]))
    assert log.append_own(batch([b"fourth"]), 1, 0, START_MS) == 3
    log.commit_to(log.log_end_offset)
    assert [value for _, value in contents(log)] == [b"first", b"second", b"third", b"fourth"]


def test_a_failed_write_takes_the_directory_offline(store, log, caplog):
    store.disk.fail = failing(errno.EIO, "write")
    storage_error(lambda: append(log, batch([b"lost"])))
    store.disk.fail = None
    assert store.manager.metadata_directory.offline
    storage_error(lambda: append(log, batch([b"more"])))
    storage_error(lambda: log.plan_read(0, 100))
    storage_error(lambda: store.log(SMALL, topic="other"))
    assert len([record for record in caplog.records if "goes offline" in record.message]) == 1
    store.stop()
    store.start()
    assert not store.manager.clean
    assert [value for _, value in contents(store.log(SMALL))] == [b"%d" % number for number in range(10)]


def test_a_failed_append_that_cannot_be_taken_back_takes_the_directory_offline(store, log):
    store.disk.fail = lambda _number, name: (
        OSError(errno.ENOSPC, "full") if name.split()[0] in ("write", "truncate") else None
    )
    storage_error(lambda: append(log, batch([b"lost"])))
    assert store.manager.metadata_directory.offline


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_a_failed_sync_is_never_tried_again(store, log, code):
    """Not for lack of space either: the kernel takes what it could not write for written, and says so next time."""
    store.disk.fail = failing(code, "sync")
    storage_error(log.flush)
    store.disk.fail = None
    assert store.manager.metadata_directory.offline
    assert log.recovery_point == 0
    storage_error(lambda: append(log, batch([b"x"])))


def test_reads_that_fail(store, log, monkeypatch):
    def broken(size, position):
        raise OSError(errno.EIO, "on purpose")

    monkeypatch.setattr(log.active.log, "pread", broken)
    storage_error(lambda: log.plan_read(log.active.base_offset, 100).read())
    assert store.manager.metadata_directory.offline


def test_a_transaction_index_that_cannot_be_written(store, log):
    append(log, batch([b"x"], producer=(7, 0, 0), transactional=True))
    store.disk.fail = failing(errno.EIO, "txnindex")
    storage_error(lambda: append_marker(log, 7, 0, commit=False))
    store.disk.fail = None
    store.start()
    log = store.log(SMALL)
    assert log.has_open_transaction(7)
    assert log.aborted_transactions(0, log.log_end_offset) == []


@pytest.mark.parametrize(
    "run",
    [checkpoint_round, flush_round, partial(retention_round, now_ms=START_MS + 10**9)],
    ids=["checkpoints", "flushes", "retention"],
)
def test_rounds_that_fail(store, log, run):
    log.delete_records_before(5)
    log.roll(START_MS)
    store.clock.advance(10**9)
    store.disk.fail = lambda _number, name: OSError(errno.EIO, "on purpose")
    storage_error(lambda: run(store.manager))
    assert store.manager.metadata_directory.offline


def test_a_full_disk_while_a_transaction_is_aborted(store, log):
    append(log, batch([b"x"], producer=(7, 0, 0), transactional=True))
    end = log.log_end_offset
    for word in ("txnindex", f"write {log.active.log.path}"):
        store.disk.fail = failing(errno.ENOSPC, word)
        storage_error(lambda: append_marker(log, 7, 0, commit=False))
        assert log.log_end_offset == end
        assert log.has_open_transaction(7)
        assert log.aborted_transactions(0, end) == []
    store.disk.fail = None
    assert not store.manager.metadata_directory.offline
    append_marker(log, 7, 0, commit=False)
    assert log.aborted_transactions(0, end + 1) == [(7, end - 1, end, end + 1)]


def test_a_stop_on_a_full_disk_is_no_clean_one(store, log):
    store.disk.fail = failing(errno.ENOSPC, "write")
    storage_error(store.stop)
    store.disk.fail = None
    store.start()
    assert not store.manager.clean
    assert len(contents(store.log(SMALL))) == 10


def test_a_directory_that_cannot_be_used():
    store = Store()
    store.disk.fail = lambda _number, name: OSError(errno.EROFS, "on purpose")
    with pytest.raises(OSError, match="on purpose"):
        LogManager(Path("/elsewhere"), store.disk, store.clock, node_id=1, cluster_id="x", random=store.random).load()
