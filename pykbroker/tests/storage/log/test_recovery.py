"""Opening what a kill, a power loss, another version or a person left behind."""

from __future__ import annotations

import pytest

from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.storage.rounds import checkpoint_round
from pykbroker.tests.storage.support import START_MS, Store, append, append_marker, batch, contents

CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=200)
DIRECTORY = "/data/t-0"


@pytest.fixture
def store():
    store = Store()
    log = store.log(CONFIG)
    for number in range(100):
        append(log, batch([b"%d" % number + bytes(20)], timestamp=START_MS + number, producer=(7, 0, number)))
    append(log, batch([b"open"], producer=(8, 0, 0), transactional=True))
    append_marker(log, 8, 0, commit=False)
    return store


def names(store, ending):
    return sorted(name for name in store.disk.list(DIRECTORY) if name.endswith(ending))


def damage(store, name, data):
    store.disk.write(f"{DIRECTORY}/{name}", data)


def reopened(store):
    store.start()
    return store.log(CONFIG)


def check(log):
    assert log.log_end_offset == 102
    assert [value[:2] for _, value in contents(log)[:100]] == [(b"%d" % n + bytes(2))[:2] for n in range(100)]
    assert log.offset_for_timestamp(START_MS + 50).offset == 50
    assert log.offset_of_max_timestamp().timestamp == START_MS + 99
    assert log.producers.entries[7].last_sequence == 99
    assert log.aborted_transactions(0, 102) == [(8, 100, 101, 102)]
    assert log.epochs.entries() == [(0, 0)]
    for offset in (0, 33, 77, 101):
        assert log.plan_read(offset, 100).read()


def test_after_a_kill(store):
    check(reopened(store))


def test_after_a_clean_shutdown_nothing_is_made_anew(store):
    store.stop()
    before = store.disk.operations
    log = reopened(store)
    assert store.manager.clean
    # The marker of the clean shutdown is removed, and that synced.
    assert store.disk.operations == before + 2
    check(log)


@pytest.mark.parametrize("stop", [True, False])
def test_producers_whose_records_were_deleted_are_known_as_long_as_a_file_has_them(stop):
    """Apache Kafka keeps them, too: a batch that is sent again, since its answer was lost, is none that is new."""
    store = Store()
    log = store.log(CONFIG)
    first = batch([b"x"], producer=(7, 0, 0))
    append(log, bytearray(first))
    append(log, batch([b"open"], producer=(8, 0, 0), transactional=True))
    for _ in range(10):
        append(log, batch([b"plain"]))
    log.delete_records_before(8)
    checkpoint_round(store.manager)
    if stop:
        store.stop()
    log = reopened(store)
    assert log.log_start_offset == 8
    assert log.has_open_transaction(8)
    assert append(log, first).duplicate


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("ending", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"", b"12345", bytes(10 * 1024)])
def test_index_files_that_are_missing_or_damaged(store, stop, ending, content):
    if stop:
        store.stop()
    for name in names(store, ending):
        if content is None:
            store.disk.remove(f"{DIRECTORY}/{name}")
        elif content or not stop:
            damage(store, name, content)
    check(reopened(store))


@pytest.mark.parametrize("ending", [".txnindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata"])
@pytest.mark.parametrize("content", [b"", b"rubbish\n"])
def test_other_files_are_made_anew_after_a_kill(store, ending, content):
    store.log(CONFIG).flush()
    for name in names(store, ending):
        damage(store, name, content)
    check(reopened(store))


@pytest.mark.parametrize("stop", [True, False])
def test_damaged_epochs_are_made_anew_from_all_batches(store, stop):
    """Those before the recovery point too."""
    store.log(CONFIG).flush()
    checkpoint_round(store.manager)
    if stop:
        store.stop()
    damage(store, "leader-epoch-checkpoint", b"rubbish\n")
    check(reopened(store))


def test_the_checkpoint_of_epochs_knows_more_than_the_batches(store):
    """Compaction may have removed the first batches of an epoch; the end of the one before is as it was."""
    damage(store, "leader-epoch-checkpoint", b"0\n2\n0 0\n3 50\n")
    assert reopened(store).epochs.entries() == [(0, 0), (3, 50)]


@pytest.mark.parametrize("stop", [True, False])
def test_epochs_beyond_the_end_of_the_log_are_forgotten(store, stop):
    if stop:
        store.stop()
    damage(store, "leader-epoch-checkpoint", b"0\n2\n0 0\n9 500\n")
    check(reopened(store))


@pytest.mark.parametrize(
    "name", ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"]
)
@pytest.mark.parametrize("content", [b"0\n1\n", b"7\n0\n", b"\xff\xfe", b"0\n1\nt 0\n", b"0\nx\n"])
def test_damaged_checkpoints(store, name, content):
    store.stop()
    store.disk.write(f"/data/{name}", content)
    check(reopened(store))


@pytest.mark.parametrize("tail", [b"\0", bytes(200), b"rubbish" * 30])
def test_a_torn_tail_is_cut(store, tail):
    log = store.log(CONFIG)
    path = log.active.log.path
    store.disk.write(path, store.disk.read(path) + tail)
    log = reopened(store)
    check(log)
    assert append(log, batch([b"next"])).base_offset == 102


def test_a_sound_batch_whose_offset_falls_back_ends_the_log(store):
    """Blocks of a file that lay there before, after a power loss."""
    path = store.log(CONFIG).active.log.path
    data = bytes(store.disk.read(path))
    store.disk.write(path, data + data)
    log = reopened(store)
    check(log)
    assert store.disk.size(path) == len(data)
    assert append(log, batch([b"next"])).base_offset == 102


def test_a_batch_that_is_damaged_ends_the_log(store):
    log = store.log(CONFIG)
    middle = log.segments[2]
    data = bytearray(store.disk.read(middle.log.path))
    data[500] ^= 1
    store.disk.write(middle.log.path, bytes(data))
    log = reopened(store)
    assert middle.base_offset < log.log_end_offset < log.segments[2].base_offset + 20
    assert len(log.segments) == 3
    assert [offset for offset, _ in contents(log)] == list(range(log.log_end_offset))


def test_before_the_recovery_point_nothing_is_read(store):
    log = store.log(CONFIG)
    log.flush()
    checkpoint_round(store.manager)
    data = bytearray(store.disk.read(log.segments[0].log.path))
    data[100] ^= 1
    store.disk.write(log.segments[0].log.path, bytes(data))
    assert reopened(store).log_end_offset == 102


def test_left_overs_are_removed(store):
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000005.log.cleaned",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000009.index",
    ):
        store.disk.create(f"{DIRECTORY}/{name}")
    check(reopened(store))
    assert not [name for name in store.disk.list(DIRECTORY) if name.endswith((".deleted", ".cleaned", ".tmp"))]
    assert "00000000000000000009.index" not in store.disk.list(DIRECTORY)


def test_strange_names_are_left_alone(store):
    for name in ("README", "note.log", "0000.log", "00000000000000000abc.index"):
        store.disk.write(f"{DIRECTORY}/{name}", b"mine")
    check(reopened(store))
    assert {"README", "note.log", "0000.log"} <= set(store.disk.list(DIRECTORY))


def test_lost_segments_leave_an_empty_log_at_its_start(store):
    log = store.log(CONFIG)
    log.delete_records_before(90)
    store.stop()
    for name in names(store, ".log"):
        store.disk.remove(f"{DIRECTORY}/{name}")
    log = reopened(store)
    assert (log.log_start_offset, log.log_end_offset) == (90, 90)
    assert append(log, batch([b"x"])).base_offset == 90
