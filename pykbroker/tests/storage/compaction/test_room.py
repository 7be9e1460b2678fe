"""Compaction on a disk without much room: it takes none from producers, and leaves nothing behind that fills the disk."""

from __future__ import annotations

import pytest

from pykbroker.storage.compaction.cleaning import CleaningResult, NoRoomError, clean
from pykbroker.storage.compaction.compaction import CompactionPlan
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import retention_round
from pykbroker.tests.storage.support import Store, append, batch
from pykbroker.wire.records import decode_records
from pykbroker.worlds.disk import SimulatedDisk

CONFIG = LogConfig(
    segment_bytes=1000, compact=True, delete=False, min_cleanable_dirty_ratio=0.0, file_delete_delay_ms=1000
)
KEYS = 8


class Small:
    """A compacted log of some segments, each of other keys than its neighbours, on a disk with ``room`` bytes."""

    def __init__(self, segments: int = 6) -> None:
        self.store = Store()
        self.log: Log = self.store.log(CONFIG)
        number = 0
        while len(self.log.segments) <= segments:
            append(self.log, batch([bytes(100)], keys=[b"key%d" % (number % KEYS)]))
            number += 1
        self.log.flush()

    @property
    def disk(self) -> SimulatedDisk:
        return self.store.disk

    def leave_room(self, room: int) -> None:
        self.disk.capacity = self.disk.used_bytes + room

    def plan(self) -> CompactionPlan | None:
        return self.store.manager.compactions.plan(self.store.clock.now_ms())

    def compact(self) -> CleaningResult | OSError:
        """One compaction, as housekeeping does it."""
        plan = self.plan()
        assert plan is not None
        outcome: CleaningResult | OSError
        try:
            outcome = clean(plan.job, self.disk)
        except OSError as error:
            plan.remove_leftovers()
            outcome = error
        self.store.manager.compactions.finish(plan, outcome)
        return outcome

    @property
    def unfinished(self) -> list[str]:
        return [name for name in self.disk.list(self.log.path) if name.endswith((".cleaned", ".swap"))]


@pytest.fixture
def small() -> Small:
    return Small()


def test_without_room_for_one_segment_nothing_is_written(small, caplog):
    small.leave_room(1500)
    before = small.disk.operations
    assert isinstance(small.compact(), NoRoomError)
    assert small.disk.operations == before
    assert "retrying in 15 s: [Errno 28] it needs" in caplog.text
    append(small.log, batch([b"producers go on"], keys=[b"k"]))


def test_with_room_for_a_part_that_part_is_compacted_and_the_rest_later(small, caplog):
    small.leave_room(2500)
    before = small.log.size_bytes
    first = small.compact()
    assert not first.complete
    assert 0 < len(first.groups) < 6
    assert small.log.size_bytes < before
    assert small.unfinished == []
    assert "Compaction of t-0 is incomplete for lack of disk space" in caplog.text
    assert small.plan() is None, "the old files are still there"
    small.store.clock.advance(15_000)
    retention_round(small.store.manager, small.store.clock.now_ms())
    while (result := small.compact()) and not result.complete:
        small.store.clock.advance(3_600_000)
        retention_round(small.store.manager, small.store.clock.now_ms())
    closed = [
        record.key
        for header, data in small.log.batches()
        for record in decode_records(data, header=header)
        if record.offset < small.log.active.base_offset
    ]
    assert len(closed) == len(set(closed)) == KEYS


def test_a_disk_that_others_fill_meanwhile(small):
    """What was written goes at once, and the log is tried again after a pause which doubles."""
    used = small.disk.used_bytes
    small.disk.fail = lambda _, name: OSError(28, "full") if name.startswith("write") else None
    for pause in (15, 30, 60):
        assert isinstance(small.compact(), OSError)
        assert small.unfinished == []
        assert small.disk.used_bytes == used
        small.store.clock.advance(pause * 1000 - 1)
        assert small.plan() is None
        small.store.clock.advance(1)
    small.disk.fail = None
    assert small.compact().complete
    append(small.log, batch([bytes(900)], keys=[b"k"]))
    append(small.log, batch([bytes(900)], keys=[b"k"]))
    small.log.flush()
    assert small.plan() is not None, "it is as any other again"


def test_a_pause_is_never_longer_than_an_hour(small):
    small.disk.fail = lambda _, name: OSError(28, "full") if name.startswith("write") else None
    for _ in range(20):
        small.compact()
        small.store.clock.advance(3_600_000)
    assert small.plan() is not None


def test_what_a_dead_cleaner_left_is_removed_from_a_log_that_was_deleted_meanwhile(small):
    plan = small.plan()
    small.store.manager.delete(small.log)
    plan.remove_leftovers()
    assert not small.store.manager.metadata_directory.offline


def test_a_start_makes_room_before_anything_is_opened(small):
    plan = small.plan()
    small.disk.fail = lambda _, name: KeyboardInterrupt() if "rename" in name else None
    with pytest.raises(KeyboardInterrupt):
        clean(plan.job, small.disk)
    small.disk.fail = None
    assert len(small.unfinished) > 0
    small.store.start()
    assert small.unfinished == []
