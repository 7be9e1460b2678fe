"""A log on its way to another directory: all of it arrives, whatever goes on meanwhile, and whatever ends the move."""

from __future__ import annotations

import errno
import random
from contextlib import suppress

import pytest

from pykbroker.storage.directories.moving import LogMove
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.directories.test_log_directories import Stores
from pykbroker.tests.storage.rounds import checkpoint_round, retention_round
from pykbroker.tests.storage.support import START_MS, TOPIC_ID, append, append_marker, batch, contents
from pykbroker.wire.errors import KafkaError
from pykbroker.worlds.disk import ProcessDied

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=50, retention_ms=-1, retention_bytes=600)


class Moving:
    """A log of several segments, with a producer, an aborted transaction and an open one, that begins in a batch."""

    def __init__(self) -> None:
        self.stores = Stores()
        log = self.log()
        assert log.directory.path == "/a"
        for number in range(12):
            append(log, batch([b"%d" % number + bytes(30)], producer=(7, 0, number)), epoch=number // 5)
        append(log, batch([b"aborted"], producer=(8, 0, 0), transactional=True), epoch=2)
        append_marker(log, 8, 0, commit=False)
        append(log, batch([b"open", b"too"], producer=(9, 0, 0), transactional=True), epoch=2)
        log.delete_records_before(5)
        log.flush()
        checkpoint_round(self.stores.manager)

    def log(self) -> Log:
        return self.stores.manager.open("t", TOPIC_ID, 0, CONFIG)

    def move(self, meanwhile=lambda: None) -> None:
        move = LogMove(self.log(), self.stores.manager.directories.all[1])
        try:
            move.copy()
            meanwhile()
            self.stores.manager.finish_move(move)
        except (OSError, KafkaError):
            move.give_up()
            move.remove_copy()


def picture(log: Log) -> tuple:
    entries = log.producers.entries
    return (
        contents(log),
        (log.log_start_offset, log.log_end_offset, log.last_stable_offset),
        log.aborted_transactions(0, log.log_end_offset),
        log.epochs.entries(),
        {pid: (entry.epoch, entry.last_sequence, entry.txn_first_offset) for pid, entry in entries.items()},
        [segment.base_offset for segment in log.segments],
    )


def test_all_of_it_arrives():
    moving = Moving()
    before = picture(moving.log())
    moving.move()
    assert moving.log().directory.path == "/b"
    assert picture(moving.log()) == before
    assert [contents.partitions for contents in moving.stores.manager.directories] == [0, 1, 0]
    for stop in (True, False):
        if stop:
            moving.stores.manager.shutdown()
        moving.stores.start()
        assert moving.log().directory.path == "/b"
        assert picture(moving.log()) == before
    end = moving.log().log_end_offset
    assert append(moving.log(), batch([b"next"], producer=(7, 0, 12))).base_offset == end


def test_what_comes_meanwhile_arrives_too():
    moving = Moving()
    log = moving.log()

    def meanwhile() -> None:
        for number in range(12, 24):
            append(log, batch([b"%d" % number + bytes(30)], producer=(7, 0, number)), epoch=3)
        append_marker(log, 9, 0, commit=True)
        log.delete_records_before(8)
        retention_round(moving.stores.manager, START_MS)

        before.append(picture(log))

    before: list[tuple] = []
    moving.move(meanwhile)
    assert moving.log() is not log
    assert picture(moving.log()) == before[0]
    retention_round(moving.stores.manager, START_MS)
    assert moving.log().log_start_offset > 8, "retention goes on where it waited"


def test_a_large_rest_is_copied_once_more():
    moving = Moving()
    move = LogMove(moving.log(), moving.stores.manager.directories.all[1])
    assert not move.nearly_complete
    move.copy()
    assert move.nearly_complete
    append(moving.log(), batch([b"the last of its segment"]))
    moving.log().roll(START_MS)
    assert not move.nearly_complete
    before = picture(moving.log())
    move.copy()
    assert move.nearly_complete
    moving.stores.manager.finish_move(move)
    assert moving.log().directory.path == "/b"
    assert picture(moving.log()) == before


def count_operations() -> int:
    moving = Moving()
    before = moving.stores.disk.operations
    moving.move()
    return moving.stores.disk.operations - before


OPERATIONS = count_operations()


@pytest.mark.parametrize("power", [False, True], ids=["killed", "power lost"])
@pytest.mark.parametrize("number", range(1, OPERATIONS + 1))
def test_ended_at(number, power):
    moving = Moving()
    before = picture(moving.log())
    disk = moving.stores.disk
    last = disk.operations + number
    disk.fail = lambda at, _: ProcessDied() if at >= last else None
    with suppress(ProcessDied):
        moving.move()
    disk.fail = None
    if power:
        disk.crash(random.Random(number))
    for _ in range(2):
        moving.stores.start()
        moving.stores.manager.directories.put_strays_aside({("t", 0): TOPIC_ID})
        assert picture(moving.log()) == before
        names = [name for path in ("/a", "/b") for name in disk.list(path) if name.startswith("t-0")]
        assert names.count("t-0") == 1
        assert not [name for name in names if name.endswith("-future")]
    append(moving.log(), batch([b"next"]))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("number", range(1, OPERATIONS + 1))
def test_refused_at(number, code):
    moving = Moving()
    before = picture(moving.log())
    disk = moving.stores.disk
    refused = disk.operations + number
    disk.fail = lambda at, _: OSError(code, "refused") if at == refused else None
    moving.move()
    disk.fail = None
    with suppress(KafkaError):  # a directory is offline
        assert picture(moving.log()) == before
    moving.stores.start()
    moving.stores.manager.directories.put_strays_aside({("t", 0): TOPIC_ID})
    assert picture(moving.log()) == before


def restarted(stores: Stores) -> None:
    stores.disk.fail = None
    stores.start()
    stores.manager.directories.put_strays_aside({("t", 0): TOPIC_ID})


@pytest.mark.parametrize("seed", range(10))
def test_what_is_flushed_after_the_move_survives_a_power_loss(seed):
    """The old directory does not come back under its name."""
    moving = Moving()
    moving.move()
    append(moving.log(), batch([b"next"]), epoch=2)
    moving.log().flush()
    before = picture(moving.log())
    moving.stores.disk.crash(random.Random(seed))
    restarted(moving.stores)
    assert picture(moving.log()) == before
    assert moving.log().directory.path == "/b"


@pytest.mark.parametrize("source", ["/a", "/b"])
def test_of_two_equal_ones_that_is_kept_which_went_on(source):
    """The last sync of the move fails: the log stays where it was, and the copy has its name."""
    moving = Moving()
    if source == "/b":
        moving.move()
    target = "/b" if source == "/a" else "/a"
    disk = moving.stores.disk
    disk.fail = lambda _, name: OSError(errno.EIO, "on purpose") if name == f"sync directory {target}" else None
    move = LogMove(moving.log(), next(each for each in moving.stores.manager.directories if each.path == target))
    move.copy()
    with pytest.raises((OSError, KafkaError)):
        moving.stores.manager.finish_move(move)
    move.give_up()
    append(moving.log(), batch([b"next"]), epoch=2)
    before = picture(moving.log())
    restarted(moving.stores)
    assert picture(moving.log()) == before
    assert moving.log().directory.path == source


def test_a_directory_that_fails_when_the_log_has_left_it():
    moving = Moving()
    moving.stores.disk.fail = lambda _, name: (
        OSError(errno.EIO, "on purpose") if name.startswith("rename /a/t-0 ") else None
    )
    moving.move()
    assert moving.log().directory.path == "/b"
    append(moving.log(), batch([b"next"]), epoch=2)
    before = picture(moving.log())
    restarted(moving.stores)
    assert picture(moving.log()) == before
