"""A topic deleted and made again: nothing that is kept by name outlives it (``test_model`` finds what these single out)."""

from __future__ import annotations

import errno
import threading

import pytest

from pykbroker.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    read_offsets,
)
from pykbroker.storage.directories.closed_logs import read_looks
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import checkpoint_round, planned_checkpoints
from pykbroker.tests.storage.support import Store, append, batch, contents
from pykbroker.wire.errors import ErrorCode, KafkaError

CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS)
NEW_ID = bytes(range(1, 17))
KEY = ("t", 0)


@pytest.fixture
def store() -> Store:
    """A log of ten records that starts at the fifth; the checkpoints say so, and where it was compacted to."""
    store = Store()
    log = store.log()
    for number in range(10):
        append(log, batch([b"old %d" % number]))
    log.flush()
    log.delete_records_before(5)
    store.manager.directories.metadata.cleaner_offsets[KEY] = 7
    checkpoint_round(store.manager)
    assert all(KEY in checkpoint(store, name) for name in CHECKPOINTS)
    return store


def checkpoint(store: Store, name: str) -> dict[tuple[str, int], int]:
    return read_offsets(store.disk, f"/data/{name}")


def made_again(store: Store) -> Log:
    log = store.log(topic_id=NEW_ID)
    for number in range(7):
        append(log, batch([b"new %d" % number]))
    return log


def check(store: Store) -> None:
    store.start()
    log = store.log(topic_id=NEW_ID)
    assert contents(log) == [(number, b"new %d" % number) for number in range(7)]


def test_the_checkpoints_forget_it_before_its_name_is_used_again(store):
    store.manager.delete(store.log())
    made_again(store)
    for name in CHECKPOINTS:
        assert KEY not in checkpoint(store, name)
    check(store)


def test_made_again_after_the_restart(store):
    store.manager.delete(store.log())
    store.start()
    made_again(store)
    check(store)


def test_made_again_while_an_older_round_of_checkpoints_is_under_way(store):
    write = planned_checkpoints(store.manager)
    store.manager.delete(store.log())
    made_again(store)
    write()
    check(store)


def test_made_again_while_the_first_round_of_checkpoints_is_under_way():
    """No file says anything of it yet, but one is about to."""
    store = Store()
    log = store.log()
    append(log, batch([b"old"] * 10))
    log.delete_records_before(9)
    write = planned_checkpoints(store.manager)
    store.manager.delete(log)
    made_again(store)
    write()
    check(store)


def test_a_full_disk_that_cannot_forget_takes_no_new_log(store):
    store.manager.delete(store.log())
    store.disk.fail = lambda _, name: OSError(errno.ENOSPC, "full") if "checkpoint" in name else None
    with pytest.raises(KafkaError) as refused:
        made_again(store)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert not store.manager.metadata_directory.offline
    store.disk.fail = None
    made_again(store)
    check(store)


def test_checkpoints_do_not_carry_on_what_is_gone(store):
    store.manager.delete(store.log())
    store.start()
    checkpoint_round(store.manager)
    assert [checkpoint(store, name) for name in CHECKPOINTS] == [{}] * 4


def test_how_its_log_was_closed_is_forgotten(store):
    store.stop()
    store.start()
    store.manager.delete(store.log())
    made_again(store)
    assert read_looks(store.disk, "/data") == {}


def test_epochs_that_are_being_written_when_it_is_deleted(monkeypatch):
    """The thread that writes leader-epoch-checkpoint is met at its first operation; the deletion waits for it."""
    store = Store()
    log = store.log()
    append(log, batch([b"old"]), epoch=5)
    met, go_on, waiting = threading.Event(), threading.Event(), threading.Event()

    class Told:
        """The lock, which tells when somebody waits for it."""

        lock = log.epochs_lock

        def __enter__(self) -> None:
            if not self.lock.acquire(blocking=False):
                waiting.set()
                self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    def meet(_: int, name: str) -> None:
        if name.startswith("create") and LEADER_EPOCHS in name:
            met.set()
            go_on.wait()

    def delete_and_make() -> None:
        store.manager.delete(log)
        store.log(topic_id=NEW_ID)
        waiting.set()

    log.epochs_lock = Told()
    store.disk.fail = meet
    flush, deletion = threading.Thread(target=log.flush), threading.Thread(target=delete_and_make)
    flush.start()
    met.wait()
    deletion.start()
    waiting.wait()
    go_on.set()
    flush.join()
    deletion.join()
    assert not store.disk.exists(f"/data/t-0/{LEADER_EPOCHS}")
    assert store.log(topic_id=NEW_ID).epochs.entries() == []


def test_room_that_was_planned_but_not_made_is_made_by_the_next_plan(store):
    """No thread could be begun for the first."""
    store.manager.delete(store.log())
    assert store.manager.directories.plan_room([KEY]) is not None
    store.make_room("t")
    assert [checkpoint(store, name) for name in CHECKPOINTS] == [{}] * 4
    assert store.manager.directories.plan_room([KEY]) is None
    store.lose_power()
    assert not store.disk.exists("/data/t-0")
    store.start()
    made_again(store)
    check(store)


@pytest.mark.parametrize(("stopped", "has_copies"), [(False, True), (False, False), (True, True)])
def test_records_of_which_a_power_loss_took_the_topic_are_left_to_other_replicas(
    store: Store, *, stopped: bool, has_copies: bool
) -> None:
    """They may be an earlier topic's, and would pass for the others' by their offsets and epochs; without others they are all there is."""
    if stopped:
        store.stop()
    store.disk.write(f"/data/t-0/{PARTITION_METADATA}", b"")
    store.start()
    log = store.manager.open("t", NEW_ID, 0, LogConfig(), has_other_replicas=has_copies)
    lost = has_copies and not stopped
    assert log.log_end_offset == (0 if lost else 10)
    assert [name.endswith("-stray") for name in store.disk.list("/data") if name.startswith("t-0.")] == [True] * lost
    append(log, batch([b"new"]))
    store.start()
    assert store.log(topic_id=NEW_ID).log_end_offset == (1 if lost else 11)
