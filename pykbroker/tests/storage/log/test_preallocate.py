"""``preallocate``: a new segment's file is as long as the segment may become; what is not used is cut when it ends."""

from __future__ import annotations

from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.storage.support import START_MS, Store, append, batch, contents

BYTES = 2000
CONFIG = LogConfig(segment_bytes=BYTES, index_interval_bytes=100, preallocate=True)


def fill(log, first: int, count: int) -> None:
    for number in range(first, first + count):
        append(log, batch([b"%03d" % number + bytes(100)]))


def on_disk(store: Store) -> list[int]:
    names = sorted(name for name in store.disk.list("/data/t-0") if name.endswith(".log"))
    return [store.disk.size(f"/data/t-0/{name}") for name in names]


def values(log) -> list[bytes]:
    return [value[:3] for _, value in contents(log)]


def numbered(count: int) -> list[bytes]:
    return [b"%03d" % number for number in range(count)]


def test_the_file_is_long_and_the_log_is_not() -> None:
    store = Store()
    log = store.log(CONFIG)
    assert on_disk(store) == [BYTES]
    fill(log, 0, 3)
    assert on_disk(store) == [BYTES]
    assert log.size_bytes < BYTES // 2
    assert values(log) == numbered(3)


def test_a_segment_that_ends_is_cut_to_its_size() -> None:
    store = Store()
    log = store.log(CONFIG)
    fill(log, 0, 30)
    *closed, active = on_disk(store)
    assert len(closed) >= 2
    assert closed == [segment.size for segment in log.segments[:-1]]
    assert active == BYTES
    assert values(log) == numbered(30)


def test_a_clean_stop_leaves_nothing_but_batches() -> None:
    store = Store()
    log = store.log(CONFIG)
    fill(log, 0, 3)
    size = log.size_bytes
    store.stop()
    assert on_disk(store) == [size]
    store.start()
    log = store.log(CONFIG)
    assert log.log_end_offset == 3
    fill(log, 3, 2)
    assert values(log) == numbered(5)


def test_recovery_after_a_kill_cuts_the_zeros() -> None:
    store = Store()
    fill(store.log(CONFIG), 0, 30)
    store.start()
    log = store.log(CONFIG)
    assert on_disk(store) == [segment.size for segment in log.segments]
    assert values(log) == numbered(30)
    fill(log, 30, 30)
    assert values(log) == numbered(60)


def test_zeros_at_the_end_of_a_closed_segment_cost_no_later_records() -> None:
    """The power goes when the next segment is on the disk already, but not the cut of this one."""
    store = Store()
    log = store.log(CONFIG)
    fill(log, 0, 30)
    closed = log.segments[0]
    store.disk.open(closed.log.path).truncate(BYTES)
    store.start()
    log = store.log(CONFIG)
    assert values(log) == numbered(30)
    assert on_disk(store)[0] == closed.size


def test_a_log_without_it_is_as_before() -> None:
    store = Store()
    log = store.log(LogConfig(segment_bytes=BYTES))
    assert on_disk(store) == [0]
    log.update_config(CONFIG)
    fill(log, 0, 1)
    log.roll(START_MS)
    assert on_disk(store)[1] == BYTES
