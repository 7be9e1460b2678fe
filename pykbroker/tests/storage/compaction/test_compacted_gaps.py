"""Gaps that compaction leaves are no sign of loss, whatever is known of the log beside its files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pykbroker.storage.checkpoints import CLEANER_OFFSETS, RECOVERY_POINTS, read_offsets, write_offsets
from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.directories.moving import LogMove
from pykbroker.storage.directory import COMPACTED
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import checkpoint_round
from pykbroker.tests.storage.support import Store, append, batch, contents
from pykbroker.worlds.disk import ProcessDied

COMPACT = LogConfig(
    compact=True, delete=False, segment_bytes=300, index_interval_bytes=50, min_cleanable_dirty_ratio=0.0
)
DELETE = replace(COMPACT, compact=False, delete=True)
KEY = ("t", 0)


def written(store: Store) -> Log:
    """Segments of three records; of the keys, only the newest stay, so that some segments lose their end."""
    log = store.log(COMPACT)
    for number in range(40):
        append(log, batch([b"%d" % number + bytes(20)], keys=[b"k%d" % (number % 2 if number < 36 else number)]))
    log.flush()
    return log


def compact(store: Store) -> None:
    plan = store.manager.compactions.plan(store.clock.now_ms())
    assert plan is not None
    store.manager.compactions.finish(plan, clean(plan.job, store.disk))


def check_gaps(log: Log) -> None:
    """Segments must end before the next one begins, or these tests test nothing."""
    pairs = zip(log.segments, log.segments[1:], strict=False)
    assert any(segment.end()[0] < following.base_offset for segment, following in pairs)


@pytest.fixture
def store() -> Store:
    """A log compacted since the last round of checkpoints."""
    store = Store()
    log = written(store)
    compact(store)
    check_gaps(log)
    assert KEY not in store.manager.directories.metadata.recovery_points
    return store


def check(store: Store, expected: list[tuple[int, bytes | None]], config: LogConfig = DELETE) -> None:
    for _ in range(2):
        store.start()
        assert contents(store.log(config)) == expected


def test_killed_after_the_policy_was_altered(store):
    expected = contents(store.log(COMPACT))
    store.log(DELETE)
    check(store, expected)


def test_power_lost_after_the_policy_was_altered(store):
    expected = contents(store.log(COMPACT))
    store.log(DELETE).flush()
    store.lose_power()
    check(store, expected)


@pytest.mark.parametrize("content", [None, b"0\n7\nnothing"])
def test_checkpoints_that_are_missing_or_damaged(store, content):
    expected = contents(store.log(COMPACT))
    checkpoint_round(store.manager)
    for name in (RECOVERY_POINTS, CLEANER_OFFSETS):
        store.disk.remove(f"/data/{name}") if content is None else store.disk.write(f"/data/{name}", content)
    check(store, expected)


def test_below_the_recovery_point_there_is_no_loss(store):
    """As in a log that Apache Kafka compacted, and whose cleaner checkpoint is lost: where it was synced, it has all."""
    log = store.log(COMPACT)
    expected = contents(log)
    pairs = zip(log.segments, log.segments[1:], strict=False)
    behind = [following for segment, following in pairs if segment.end()[0] < following.base_offset][-1]
    write_offsets(store.disk, f"/data/{RECOVERY_POINTS}", {KEY: behind.base_offset})
    store.disk.remove(f"/data/t-0/{COMPACTED}")
    check(store, expected)


def test_a_swap_that_the_start_completes():
    """The process that compacted died between two renames; its checkpoints never heard of it."""
    store = Store()
    written(store)
    plan = store.manager.compactions.plan(store.clock.now_ms())
    result = clean(plan.job, store.disk)
    last = store.disk.operations + 5
    store.disk.fail = lambda number, _: ProcessDied() if number >= last else None
    with pytest.raises(ProcessDied):
        store.manager.compactions.finish(plan, result)
    store.disk.fail = None
    store.disk.remove(f"/data/t-0/{COMPACTED}")  # Kafka's cleaner leaves none
    store.start()
    log = store.log(DELETE)
    assert store.disk.exists(f"/data/t-0/{COMPACTED}")
    check_gaps(log)
    check(store, contents(log))


def test_a_gap_that_was_once_accepted():
    """The power took the end of a segment of a compacted log, not yet compacted. What is appended behind the gap stays."""
    store = Store()
    log = store.log(COMPACT)
    for number in range(6):
        append(log, batch([b"%d" % number + bytes(20)], keys=[b"k"]))
    first, *_ = log.segments
    store.disk.write(first.log.path, store.disk.read(first.log.path)[: -first.size // 3])
    for name in store.disk.list("/data/t-0"):
        if name.endswith(".snapshot"):
            store.disk.remove(f"/data/t-0/{name}")
    store.start()
    log = store.log(COMPACT)
    check_gaps(log)
    append(log, batch([b"more"], keys=[b"k"]))
    check(store, contents(log))


def test_a_move_takes_the_mark_along(store):
    move = LogMove(store.log(COMPACT), store.manager.directories.metadata)
    move.copy()
    move.complete()
    assert store.disk.exists(f"{move.path}/{COMPACTED}")


def test_a_cut_below_the_recovery_point_is_written_down():
    """Else the next recovery begins behind what is appended from now on, and does not see what a power loss tears."""
    store = Store()
    log = written(store)
    checkpoint_round(store.manager)
    last = log.active
    store.disk.write(last.log.path, store.disk.read(last.log.path)[:-1])
    store.start()
    end = store.log(COMPACT).log_end_offset
    assert end == 39
    assert read_offsets(store.disk, f"/data/{RECOVERY_POINTS}")[KEY] == end
