"""What retention drops, and when the files go."""

from __future__ import annotations

import pytest

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.retention import apply_retention
from pykbroker.tests.storage.rounds import checkpoint_round, retention_round
from pykbroker.tests.storage.support import START_MS, Store, append, batch

DAY = 24 * 3600 * 1000


def filled(config, count=30):
    store = Store()
    log = store.log(config)
    for number in range(count):
        append(log, batch([bytes(30)], timestamp=START_MS + number), now_ms=START_MS)
    return store, log


def test_by_size_whole_segments_go():
    _, log = filled(LogConfig(segment_bytes=500, retention_bytes=1200, retention_ms=-1))
    apply_retention(log, START_MS)
    assert 1200 <= log.size_bytes < 1200 + 500
    assert log.log_start_offset == log.segments[0].base_offset > 0
    assert log.recovery_point == log.log_start_offset


def test_by_size_nothing_goes_while_it_fits():
    _, log = filled(LogConfig(segment_bytes=500, retention_bytes=100_000, retention_ms=-1))
    assert apply_retention(log, START_MS) == 0


def test_by_size_with_no_bytes_allowed_the_active_segment_goes_too():
    _, log = filled(LogConfig(segment_bytes=500, retention_bytes=0, retention_ms=-1))
    apply_retention(log, START_MS)
    assert log.log_start_offset == log.log_end_offset == 30
    assert log.size_bytes == 0
    assert apply_retention(log, START_MS) == 0, "an empty segment stays"
    assert append(log, batch([b"x"])).base_offset == 30


def test_by_time_old_segments_go():
    config = LogConfig(segment_bytes=500, retention_ms=DAY)
    _, log = filled(config)
    assert apply_retention(log, START_MS + DAY) == 0
    second = log.segments[1].base_offset
    newest = log.segments[0].largest_timestamp()[0]
    assert apply_retention(log, newest + DAY) == 0
    assert apply_retention(log, newest + DAY + 1) == 1
    assert log.log_start_offset == second


def test_by_time_the_active_segment_is_rolled_and_goes_too():
    _, log = filled(LogConfig(segment_bytes=500, retention_ms=DAY))
    apply_retention(log, START_MS + 2 * DAY)
    assert log.log_start_offset == log.log_end_offset == 30
    assert log.size_bytes == 0
    assert apply_retention(log, START_MS + 4 * DAY) == 0
    assert append(log, batch([b"x"])).base_offset == 30


def test_records_without_time_count_from_the_last_write():
    store = Store()
    log = store.log(LogConfig(retention_ms=DAY))
    append(log, batch([b"x"], timestamp=-1))
    store.disk.inode(log.active.log.path).modified_ms = START_MS
    assert apply_retention(log, START_MS + DAY) == 0
    assert apply_retention(log, START_MS + DAY + 1) == 1


def test_a_compacted_log_keeps_all_but_what_lies_before_its_start():
    _, log = filled(LogConfig(segment_bytes=500, retention_ms=1, retention_bytes=1, compact=False, delete=False))
    assert apply_retention(log, START_MS + DAY) == 0
    log.log_start_offset = 20
    assert apply_retention(log, START_MS + DAY) > 0
    assert log.log_start_offset == 20


def test_delete_records_moves_the_start_and_drops_what_is_wholly_before_it():
    _, log = filled(LogConfig(segment_bytes=500))
    bases = [segment.base_offset for segment in log.segments]
    assert log.delete_records_before(bases[2] + 1) == bases[2] + 1
    assert [segment.base_offset for segment in log.segments] == bases[2:]
    assert log.delete_records_before(3) == bases[2] + 1
    assert log.delete_records_before(30) == 30
    assert len(log.segments) == 1


def test_files_go_after_their_delay():
    config = LogConfig(segment_bytes=500, file_delete_delay_ms=1000)
    store, log = filled(config)
    log.delete_records_before(30)
    names = store.disk.list("/data/t-0")
    assert len([name for name in names if name.endswith(".log.deleted")]) == 5
    store.clock.advance(999)
    retention_round(store.manager, START_MS)
    assert len(store.disk.list("/data/t-0")) == len(names)
    store.clock.advance(1)
    retention_round(store.manager, START_MS)
    assert not [name for name in store.disk.list("/data/t-0") if name.endswith(".deleted")]


def test_files_do_not_wait_longer_where_the_clock_goes_back():
    store, log = filled(LogConfig(segment_bytes=500, file_delete_delay_ms=1000))
    log.delete_records_before(30)
    store.clock.set_wall(START_MS - DAY)
    store.clock.advance(1000)
    retention_round(store.manager, store.clock.now_ms())
    assert not [name for name in store.disk.list("/data/t-0") if name.endswith(".deleted")]


def test_files_do_not_go_sooner_where_the_clock_goes_forward():
    store, log = filled(LogConfig(segment_bytes=500, file_delete_delay_ms=1000))
    log.delete_records_before(30)
    store.clock.set_wall(START_MS + DAY)
    store.clock.advance(999)
    retention_round(store.manager, store.clock.now_ms())
    assert len([name for name in store.disk.list("/data/t-0") if name.endswith(".log.deleted")]) == 5


def test_snapshots_go_with_their_segments():
    store, log = filled(LogConfig(segment_bytes=500))
    assert len(log.snapshots) == len(log.segments) - 1
    log.delete_records_before(30)
    found = [name for name in store.disk.list("/data/t-0") if name.endswith(".snapshot")]
    assert found == [f"{log.active.base_offset:020d}.snapshot"]


@pytest.mark.parametrize("stop", [Store.stop, lambda store: None])
def test_the_start_survives_a_restart(stop):
    config = LogConfig(segment_bytes=500)
    store, log = filled(config)
    log.delete_records_before(17)
    checkpoint_round(store.manager)
    stop(store)
    store.start()
    assert store.log(config).log_start_offset == 17
