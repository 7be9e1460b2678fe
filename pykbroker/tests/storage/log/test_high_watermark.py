"""Nothing is taken away, hidden or shown on the strength of records that are not committed."""

from __future__ import annotations

import pytest

from pykbroker.storage.checkpoints import HIGH_WATERMARKS, read_offsets
from pykbroker.storage.compaction.compaction import cleanable
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.retention import apply_retention
from pykbroker.storage.log.validate import Origin
from pykbroker.tests.storage.rounds import checkpoint_round
from pykbroker.tests.storage.support import START_MS, TOPIC_ID, Store, batch
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.errors import ErrorCode, KafkaError

DAY = 24 * 3600 * 1000


def write(log: Log, *, key: bytes | None = None, producer: tuple[int, int, int] | None = None) -> None:
    data = batch([bytes(100)], keys=[key], producer=producer, transactional=producer is not None)
    log.append_as_leader(data, leader_epoch=0, now_ms=START_MS)


def filled(config: LogConfig, store: Store | None = None) -> Log:
    """Ten records in five segments; the first five are committed."""
    log = (store or Store()).log(config)
    for number in range(10):
        write(log, key=b"%d" % (number % 2))
    log.commit_to(5)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4, 6, 8]
    return log


def test_it_never_goes_back_but_by_truncation():
    log = filled(LogConfig(segment_bytes=400))
    log.commit_to(3)
    assert log.high_watermark == 5
    log.truncate_to(7)
    assert log.high_watermark == 5
    log.truncate_to(4)
    assert log.high_watermark == 4


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize(("has_other_replicas", "expected"), [(True, 5), (False, 10)])
def test_a_log_with_other_replicas_is_loaded_up_to_its_checkpoint(stopped, has_other_replicas, expected):
    """What lies behind it may not be on them; without them all that was found is committed."""
    store = Store()
    filled(LogConfig(segment_bytes=400), store).flush()
    checkpoint_round(store.manager)
    if stopped:
        store.stop()
    store.start()
    log = store.manager.open("t", TOPIC_ID, 0, LogConfig(), has_other_replicas=has_other_replicas)
    assert (log.high_watermark, log.log_end_offset) == (expected, 10)


def test_a_checkpoint_behind_a_torn_tail_is_not_believed():
    store = Store()
    log = filled(LogConfig(segment_bytes=400), store)
    log.commit_to(10)
    log.flush()
    checkpoint_round(store.manager)
    path = log.active.log.path
    store.disk.open(path).truncate(store.disk.size(path) - 1)
    store.start()
    log = store.manager.open("t", TOPIC_ID, 0, LogConfig(), has_other_replicas=True)
    assert log.high_watermark == log.log_end_offset == 9


@pytest.mark.parametrize("rule", [{"retention_ms": DAY}, {"retention_bytes": 0, "retention_ms": -1}])
def test_retention_stops_at_it(rule):
    log = filled(LogConfig(segment_bytes=400, **rule))
    apply_retention(log, START_MS + 2 * DAY)
    assert (log.log_start_offset, log.log_end_offset) == (4, 10)
    log.commit_to(9)
    apply_retention(log, START_MS + 2 * DAY)
    assert (log.log_start_offset, log.log_end_offset) == (8, 10)
    log.commit_to(10)
    apply_retention(log, START_MS + 2 * DAY)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)


def test_compaction_stops_at_it():
    log = filled(LogConfig(segment_bytes=400, compact=True, delete=False, min_cleanable_dirty_ratio=0.0))
    log.flush()
    found = cleanable(log, None, START_MS)
    assert found is not None
    assert found.upper_offset == 4
    log.commit_to(10)
    found = cleanable(log, None, START_MS)
    assert found is not None
    assert found.upper_offset == 8


def test_records_are_deleted_up_to_it_only():
    log = filled(LogConfig(segment_bytes=400))
    with pytest.raises(KafkaError) as refused:
        log.delete_records_before(6)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.delete_records_before(5) == 5


def test_the_checkpoint_holds_it():
    store = Store()
    filled(LogConfig(segment_bytes=400), store)
    checkpoint_round(store.manager)
    assert read_offsets(store.disk, f"/data/{HIGH_WATERMARKS}") == {("t", 0): 5}


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_is_open_to_readers_until_its_marker_is_committed(commit):
    log = Store().log()
    write(log, producer=(7, 0, 0))
    log.commit_to(1)
    assert log.last_stable_offset == 0
    marker = encode_end_txn_batch(EndTxnMarker(commit, 0), producer_id=7, producer_epoch=0, timestamp=START_MS)
    log.append_as_leader(bytearray(marker), leader_epoch=0, now_ms=START_MS, origin=Origin.COORDINATOR)
    write(log)
    assert log.last_stable_offset == 0
    log.commit_to(2)
    assert log.last_stable_offset == 2
    log.commit_to(3)
    assert log.last_stable_offset == 3


def test_after_a_truncation_what_is_left_counts_anew():
    log = Store().log()
    write(log, producer=(7, 0, 0))
    marker = encode_end_txn_batch(EndTxnMarker(True, 0), producer_id=7, producer_epoch=0, timestamp=START_MS)
    log.append_as_leader(bytearray(marker), leader_epoch=0, now_ms=START_MS, origin=Origin.COORDINATOR)
    write(log)
    log.commit_to(2)
    log.truncate_to(2)
    assert log.last_stable_offset == 2
    log.truncate_to(1)
    assert log.last_stable_offset == 0


def test_a_truncation_behind_a_snapshot_remembers_what_is_not_committed():
    log = Store().log()
    write(log, producer=(7, 0, 0))
    marker = encode_end_txn_batch(EndTxnMarker(True, 0), producer_id=7, producer_epoch=0, timestamp=START_MS)
    log.append_as_leader(bytearray(marker), leader_epoch=0, now_ms=START_MS, origin=Origin.COORDINATOR)
    log.roll(START_MS)
    write(log)
    write(log)
    log.commit_to(1)
    log.truncate_to(3)
    assert log.last_stable_offset == 0
    log.commit_to(2)
    assert log.last_stable_offset == 2
