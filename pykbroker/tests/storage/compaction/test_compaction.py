"""Compaction step by step: what goes, what stays, what a batch looks like afterwards, and which logs are due."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from pykbroker.storage.checkpoints import encode_partition_metadata
from pykbroker.storage.compaction import large_batches
from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import checkpoint_round, retention_round
from pykbroker.tests.storage.support import START_MS, Store, append, append_marker, batch
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.compression import Compression
from pykbroker.wire.record_walk import RecordTooLarge
from pykbroker.wire.records import Record, decode_records, encode_batch

HOUR = 3600 * 1000
DAY = 24 * HOUR
CONFIG = LogConfig(compact=True, delete=False, min_cleanable_dirty_ratio=0.0, delete_retention_ms=DAY)
PLENTY = 10**6


class Compacted:
    """A compacted log; ``send`` appends a batch, ``clean`` closes the active segment and compacts up to there."""

    def __init__(self, config: LogConfig = CONFIG) -> None:
        self.store = Store()
        self.config = config
        self.log: Log = self.store.log(config)

    def send(self, *entries: tuple[bytes, bytes | None], **options) -> bytes:
        """As it lies in the log."""
        data = batch([value for _, value in entries], keys=[key for key, _ in entries], **options)
        append(self.log, data, now_ms=self.store.clock.now_ms())
        return bytes(data)

    def roll(self) -> None:
        self.log.roll(self.store.clock.now_ms())
        self.log.flush()

    def clean(self, memory_bytes: int = PLENTY, *, roll: bool = True):
        """The result; None where nothing was due."""
        if roll:
            self.roll()
        manager = self.store.manager
        manager.compactions.memory_bytes = memory_bytes
        plan = manager.compactions.plan(self.store.clock.now_ms())
        if plan is None:
            return None
        result = clean(plan.job, self.store.disk)
        manager.compactions.finish(plan, result)
        return result

    @property
    def batches(self) -> list[tuple[BatchHeader, bytes]]:
        return [(header, bytes(data)) for header, data in self.log.batches()]

    @property
    def records(self) -> list[Record]:
        """Of all data batches."""
        return [
            record
            for header, data in self.batches
            if not header.is_control
            for record in decode_records(data, header=header)
        ]

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.records]


@pytest.fixture(params=["at once", "record by record"])
def compacted(request, monkeypatch) -> Compacted:
    """With batches that are held as a whole, and with the same passed over record by record, as those that hold much are."""
    if request.param != "at once":
        monkeypatch.setattr(large_batches, "RECORDS_AT_ONCE", -1)
    return Compacted()


# -- records -----------------------------------------------------------------------------------------------------------


def test_the_newest_of_each_key_stays_at_its_offset(compacted):
    compacted.send((b"a", b"1"), (b"b", b"1"), (b"c", b"1"))
    compacted.send((b"b", b"2"), (b"b", b"3"))
    assert compacted.clean().end_offset == 5
    assert [(record.offset, record.key, record.value) for record in compacted.records] == [
        (0, b"a", b"1"),
        (2, b"c", b"1"),
        (4, b"b", b"3"),
    ]
    assert compacted.log.log_end_offset == 5


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_that_loses_records_is_otherwise_as_it_was(codec, compacted):
    compacted.send((b"a", b"1" * 300), (b"b", b"2" * 300), (b"c", b"3" * 300), compression=codec, producer=(7, 2, 5))
    whole = compacted.send((b"c", b"4"), (b"d", b"5"), compression=codec, producer=(7, 2, 8))
    before = [header for header, _ in compacted.batches]
    compacted.clean()
    (first, _), (second, data) = compacted.batches
    assert data == whole
    assert (first.compression, first.record_count, first.base_offset, first.last_offset) == (codec, 2, 0, 2)
    assert (first.producer_id, first.producer_epoch, first.base_sequence) == (7, 2, 5)
    assert (first.base_timestamp, first.max_timestamp) == (START_MS, START_MS + 1)
    assert first.partition_leader_epoch == before[0].partition_leader_epoch
    assert second == before[1]
    assert [record.timestamp for record in compacted.records] == [START_MS, START_MS + 1, START_MS, START_MS + 1]


def test_with_append_time_the_largest_timestamp_is_the_append_time():
    compacted = Compacted(LogConfig(compact=True, delete=False, min_cleanable_dirty_ratio=0.0, log_append_time=True))
    compacted.store.clock.advance(HOUR)
    compacted.send((b"a", b"1"), (b"b", b"1"))
    compacted.send((b"b", b"2"))
    compacted.clean()
    assert [(record.offset, record.timestamp) for record in compacted.records] == [
        (0, START_MS + HOUR),
        (2, START_MS + HOUR),
    ]


def test_records_without_a_key_go():
    """Those that were written before the topic was a compacted one."""
    compacted = Compacted(LogConfig())
    append(compacted.log, batch([b"x", b"y"], keys=[None, b"k"]))
    append(compacted.log, batch([b"z"], keys=[None]))
    compacted.log.update_config(CONFIG)
    compacted.clean()
    assert compacted.offsets == [1]


def test_long_records_and_long_keys(compacted):
    """Lengths, timestamps and offsets beyond one and two bytes of a varint."""
    long_key, longer = b"k" * 5000, b"v" * 20_000
    entries = [(b"%d" % number, b"x" * number) for number in range(200)]
    compacted.send(*entries, (long_key, longer), (b"same", b""), (long_key, b"new"))
    compacted.send((b"0", b""), (b"199", None), timestamp=START_MS + 10**6)
    compacted.clean()
    assert compacted.offsets == [*range(1, 199), 201, 202, 203, 204]
    assert compacted.batches[0][0].max_timestamp == START_MS + 202


@pytest.mark.deep
def test_what_a_stranger_has_packed_needs_little_memory():
    """A huge record stays, with its batch; of many records of two keys the newest stay."""
    compacted = Compacted()
    huge = [Record(timestamp=START_MS, key=b"a", value=bytes(32_000_000))]
    many = [Record(timestamp=START_MS, key=b"%d" % (number % 2), value=b"v" * 1600) for number in range(8_000)]
    for content in (huge, many, huge):
        packed = bytearray(encode_batch(content, compression=Compression.ZSTD))
        append(compacted.log, packed, now_ms=compacted.store.clock.now_ms())
    tracemalloc.start()
    try:
        compacted.clean()
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()
    assert compacted.offsets == [0, 7_999, 8_000, 8_001]


def test_a_record_beyond_the_setting_stops_compaction():
    compacted = Compacted()
    append(
        compacted.log,
        bytearray(
            encode_batch([Record(timestamp=START_MS, key=b"a", value=bytes(2000))], compression=Compression.ZSTD)
        ),
        now_ms=compacted.store.clock.now_ms(),
    )
    compacted.log.update_config(replace(CONFIG, max_decompressed_message_bytes=1000))
    with pytest.raises(RecordTooLarge):
        compacted.clean()


def test_what_is_dirty_supersedes_what_is_clean(compacted):
    compacted.send((b"a", b"1"), (b"b", b"1"))
    compacted.clean()
    compacted.send((b"b", b"2"), (b"c", b"2"))
    result = compacted.clean()
    assert (result.end_offset, compacted.offsets) == (4, [0, 2, 3])


@pytest.mark.parametrize("memory_bytes", [0, 600, PLENTY])
@pytest.mark.deep(but=2)
def test_when_memory_is_used_the_rest_is_left_for_the_next_round(compacted, memory_bytes):
    for turn in range(2):
        for number in range(100):
            compacted.send((b"key%d" % number, b"%d" % turn))
    compacted.roll()
    rounds = 0
    while (result := compacted.clean(memory_bytes, roll=False)) is not None:
        rounds += 1
        end = result.end_offset
    assert end == 200
    assert (rounds > 1) == (memory_bytes < PLENTY)
    assert compacted.offsets == list(range(100, 200))


# -- tombstones --------------------------------------------------------------------------------------------------------


def test_a_tombstone_lives_for_delete_retention_from_its_first_compaction(compacted):
    store = compacted.store
    compacted.send((b"a", b"1"), (b"b", b"1"))
    compacted.send((b"a", None), (b"c", b"1"), timestamp=START_MS - 10 * DAY)
    store.clock.advance(HOUR)
    compacted.clean()
    header, data = compacted.batches[1]
    assert (header.has_delete_horizon, header.base_timestamp) == (True, START_MS + HOUR + DAY)
    assert [(record.offset, record.timestamp) for record in decode_records(data)] == [
        (2, START_MS - 10 * DAY),
        (3, START_MS - 10 * DAY + 1),
    ]
    assert header.max_timestamp == START_MS - 10 * DAY + 1
    store.clock.advance(DAY - 1)
    compacted.send((b"x", b"1"))
    compacted.clean()
    assert 2 in compacted.offsets
    assert compacted.batches[1] == (header, data)
    store.clock.advance(1)
    compacted.send((b"x", b"2"))
    compacted.clean()
    assert compacted.offsets == [1, 3, 5]


def test_delete_retention_may_be_for_ever():
    compacted = Compacted(replace(CONFIG, delete_retention_ms=2**63 - 1))
    compacted.send((b"a", b"1"), (b"b", b"1"))
    compacted.send((b"a", None))
    for _ in range(2):
        compacted.clean()
        compacted.store.clock.advance(1000 * DAY)
        compacted.send((b"c", b"1"))
        assert (2, START_MS, None) in [(record.offset, record.timestamp, record.value) for record in compacted.records]


def test_a_tombstone_is_superseded_like_any_other(compacted):
    compacted.send((b"a", None), (b"b", b"1"))
    compacted.send((b"a", b"2"))
    compacted.clean()
    assert compacted.offsets == [1, 2]
    assert not compacted.batches[0][0].has_delete_horizon


def test_a_dirty_tombstone_whose_time_is_over_goes(compacted):
    """Where the cleaner's checkpoint was lost, all is dirty again."""
    compacted.send((b"a", None), (b"b", b"1"))
    compacted.clean()
    compacted.store.clock.advance(DAY)
    compacted.store.manager.directories.metadata.cleaner_offsets.clear()
    compacted.send((b"c", b"1"))
    assert compacted.clean().end_offset == 3
    assert compacted.offsets == [1, 2]


# -- transactions ------------------------------------------------------------------------------------------------------


def test_aborted_records_go_and_supersede_nothing(compacted):
    compacted.send((b"a", b"1"))
    compacted.send((b"a", b"aborted"), (b"z", b"aborted"), producer=(7, 0, 0), transactional=True)
    append_marker(compacted.log, 7, 0, commit=False)
    compacted.send((b"b", b"1"))
    compacted.clean()
    assert compacted.offsets == [0, 4]
    assert compacted.log.aborted_transactions(0, 5) == [(7, 1, 3, 4)]


def test_a_marker_stays_while_its_data_does_and_delete_retention_longer(compacted):
    compacted.send((b"a", b"1"), producer=(7, 0, 0), transactional=True)
    append_marker(compacted.log, 7, 0, commit=True)
    compacted.send((b"x", b"1"), producer=(7, 0, 1))
    compacted.clean()
    assert not any(header.has_delete_horizon for header, _ in compacted.batches)
    for number in range(2):  # the compaction that removes the data still finds it
        assert not any(header.has_delete_horizon for header, _ in compacted.batches)
        compacted.send((b"a", b"%d" % number))
        compacted.clean()
    marker = next(header for header, _ in compacted.batches if header.is_control)
    assert (marker.base_offset, marker.base_timestamp) == (1, START_MS + DAY)
    compacted.store.clock.advance(DAY)
    compacted.send((b"x", b"2"))
    compacted.clean()
    assert not any(header.is_control for header, _ in compacted.batches)


def test_each_marker_is_that_of_its_own_transaction(compacted):
    for sequence, key in enumerate((b"stays", b"goes")):
        compacted.send((key, b"1"), producer=(7, 0, sequence), transactional=True)
        append_marker(compacted.log, 7, 0, commit=True)
    compacted.send((b"goes", b"2"), producer=(7, 0, 2))
    for number in range(2):
        compacted.send((b"x", b"%d" % number))
        compacted.clean()
    markers = [(header.base_offset, header.has_delete_horizon) for header, _ in compacted.batches if header.is_control]
    assert markers == [(1, False), (3, True)]


def test_the_last_marker_of_a_producer_without_data_leaves_its_epoch(compacted):
    """Version 2 of transactions ends each with a higher epoch, which the data before it does not have."""
    compacted.send((b"a", b"1"), producer=(7, 0, 0), transactional=True)
    append_marker(compacted.log, 7, 1, commit=True)
    for number in range(3):
        compacted.send((b"a", b"%d" % number))
        compacted.clean()
        compacted.store.clock.advance(DAY)
    (marker,) = (header for header, _ in compacted.batches if header.is_control)
    assert (marker.base_offset, marker.record_count, marker.producer_epoch) == (1, 0, 1)


def test_the_records_of_an_open_transaction_and_all_behind_them_wait(compacted):
    compacted.send((b"a", b"1"))
    compacted.send((b"a", b"2"))
    compacted.roll()
    compacted.send((b"a", b"open"), producer=(7, 0, 0), transactional=True)
    compacted.roll()
    compacted.send((b"a", b"3"))
    assert compacted.clean().end_offset == 2
    assert compacted.offsets == [1, 2, 3]
    append_marker(compacted.log, 7, 0, commit=True)
    assert compacted.clean().end_offset == 5
    assert compacted.offsets == [3]


# -- traces ------------------------------------------------------------------------------------------------------------


def test_the_last_batch_of_a_producer_leaves_its_sequence(compacted):
    compacted.send((b"a", b"1"), producer=(7, 3, 0))
    compacted.send((b"a", b"2"), producer=(7, 3, 1))
    compacted.send((b"a", b"3"))
    compacted.clean()
    (empty, _), (last, _) = compacted.batches
    assert (empty.record_count, empty.base_offset, empty.producer_id, empty.producer_epoch) == (0, 1, 7, 3)
    assert (empty.base_sequence, last.base_offset) == (1, 2)
    compacted.store.disk.remove(f"{compacted.log.path}/{3:020d}.snapshot")
    compacted.store.start()
    assert compacted.store.log(CONFIG).producers.entries[7].last_sequence == 1


def test_the_end_of_what_was_cleaned_is_marked_by_an_empty_batch(compacted):
    append(compacted.log, batch([b"1"], keys=[b"a"]))
    compacted.send((b"a", None))
    compacted.clean()
    compacted.store.clock.advance(DAY)
    compacted.send((b"b", b"1"))
    compacted.clean()
    compacted.send((b"b", None))
    compacted.clean()
    compacted.store.clock.advance(DAY)
    compacted.roll()
    compacted.store.manager.directories.metadata.cleaner_offsets.clear()
    compacted.clean()
    assert [(header.record_count, header.last_offset) for header, _ in compacted.batches] == [(0, 3)]


# -- segments ----------------------------------------------------------------------------------------------------------


def test_segments_that_have_become_small_are_joined(compacted):
    for number in range(6):
        compacted.send((b"%d" % (number % 3), bytes(100)))
        compacted.roll()
    compacted.clean(roll=False)
    assert [segment.base_offset for segment in compacted.log.segments] == [0, 6]
    assert compacted.offsets == [3, 4, 5]
    assert compacted.log.segments[0].find(4, 10**6) > 0


def test_no_more_are_joined_than_fit_into_one():
    compacted = Compacted(LogConfig(compact=True, delete=False, min_cleanable_dirty_ratio=0.0, segment_bytes=400))
    for number in range(6):
        compacted.send((b"%d" % number, bytes(100)))
        compacted.roll()
    compacted.clean(roll=False)
    assert [segment.base_offset for segment in compacted.log.segments] == [0, 2, 4, 6]


def test_offsets_too_far_apart_for_one_index_are_not_joined(compacted):
    compacted.send((b"a", b"1"))
    compacted.log.log_end_offset += 2**31
    compacted.log.producers.end_offset = compacted.log.log_end_offset
    for key in (b"b", b"c"):
        compacted.roll()
        compacted.send((key, b"1"))
    compacted.clean()
    assert [segment.base_offset for segment in compacted.log.segments] == [0, 2**31 + 1, 2**31 + 3]
    assert compacted.offsets == [0, 2**31 + 1, 2**31 + 2]


def test_a_directory_that_belongs_to_another_topic_by_now(compacted):
    compacted.send((b"a", b"1"))
    compacted.roll()
    plan = compacted.store.manager.compactions.plan(START_MS)
    compacted.store.disk.write(f"{compacted.log.path}/partition.metadata", encode_partition_metadata(bytes(16)))
    with pytest.raises(FileNotFoundError, match="another topic"):
        clean(plan.job, compacted.store.disk)


def test_gaps_that_compaction_left_are_none_for_recovery():
    """Not even where the topic is no compacted one any more."""
    config = LogConfig(compact=True, delete=False, min_cleanable_dirty_ratio=0.0, segment_bytes=400)
    compacted = Compacted(config)
    for key in (b"a", b"b", b"b", b"b", b"c"):
        compacted.send((key, bytes(300)))
    compacted.clean()
    checkpoint_round(compacted.store.manager)
    compacted.store.disk.remove("/data/recovery-point-offset-checkpoint")
    compacted.store.start()
    compacted.log = compacted.store.log(LogConfig(segment_bytes=400))
    assert compacted.offsets == [0, 3, 4]


# -- what is due -------------------------------------------------------------------------------------------------------


def due(config: LogConfig, age_ms: int = 0) -> bool:
    """Whether a log with one dirty record in a closed segment, and one in the active one, is compacted."""
    compacted = Compacted(config)
    compacted.send((b"a", b"1"))
    compacted.roll()
    compacted.send((b"a", b"2"))
    compacted.log.flush()
    compacted.store.clock.advance(age_ms)
    return compacted.clean(roll=False) is not None


def test_only_closed_segments_are_compacted(compacted):
    compacted.send((b"a", b"1"))
    compacted.send((b"a", b"2"))
    assert compacted.clean(roll=False) is None
    compacted.roll()
    assert compacted.clean(roll=False).end_offset == 2


def test_only_what_is_synced_is_compacted(compacted):
    compacted.send((b"a", b"1"))
    compacted.log.roll(START_MS)
    assert compacted.clean(roll=False) is None
    compacted.log.flush()
    assert compacted.clean(roll=False) is not None


def test_min_compaction_lag():
    config = LogConfig(compact=True, min_cleanable_dirty_ratio=0.0, min_compaction_lag_ms=HOUR)
    assert not due(config, HOUR - 1)
    assert due(config, HOUR)


def test_max_compaction_lag_overrules_the_ratio():
    config = LogConfig(compact=True, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=HOUR)
    assert not due(config, HOUR)
    assert due(config, HOUR + 1)


def test_min_cleanable_dirty_ratio():
    compacted = Compacted(LogConfig(compact=True, delete=False, min_cleanable_dirty_ratio=0.5))
    compacted.send((b"a", bytes(100)))
    compacted.send((b"b", bytes(100)))
    assert compacted.clean() is not None
    compacted.send((b"c", bytes(100)))
    assert compacted.clean() is None
    compacted.send((b"d", bytes(100)))
    assert compacted.clean() is None  # exactly half is not more than half
    compacted.send((b"e", bytes(100)))
    assert compacted.clean() is not None


def test_the_cleaned_offset_survives_a_restart(compacted):
    compacted.send((b"a", b"1"))
    compacted.clean()
    checkpoint_round(compacted.store.manager)
    assert b"\nt 0 1\n" in compacted.store.disk.read("/data/cleaner-offset-checkpoint")
    compacted.store.start()
    compacted.log = compacted.store.log(CONFIG)
    assert compacted.clean(roll=False) is None


def test_a_cleaned_offset_beyond_the_end_of_the_log_is_not_believed(compacted):
    """The power took the end of the log, and what is appended since was never compacted."""
    compacted.store.manager.directories.metadata.cleaner_offsets["t", 0] = 1000
    compacted.send((b"a", b"1"))
    compacted.send((b"a", b"2"))
    assert compacted.clean().end_offset == 2
    assert compacted.offsets == [1]


# -- what happens meanwhile --------------------------------------------------------------------------------------------


@pytest.fixture
def begun(compacted):
    """A compaction that a worker has done and the loop has not heard of: (compacted, plan, result)."""
    for number in range(3):
        compacted.send((b"a", b"%d" % number))
        compacted.roll()
    plan = compacted.store.manager.compactions.plan(START_MS)
    return compacted, plan, clean(plan.job, compacted.store.disk)


def test_a_log_that_was_truncated_meanwhile_stays_as_it_is(begun):
    compacted, plan, result = begun
    compacted.log.truncate_to(2)
    compacted.store.manager.compactions.finish(plan, result)
    assert compacted.offsets == [0, 1]
    assert not [name for name in compacted.store.disk.list(compacted.log.path) if name.endswith((".swap", ".cleaned"))]
    assert ("t", 0) not in compacted.store.manager.directories.metadata.cleaner_offsets


def test_records_deleted_meanwhile_go_afterwards(begun):
    compacted, plan, result = begun
    before = [segment.base_offset for segment in compacted.log.segments]
    compacted.log.delete_records_before(2)
    retention_round(compacted.store.manager, START_MS)
    assert [segment.base_offset for segment in compacted.log.segments] == before
    assert compacted.offsets == [2]
    compacted.store.manager.compactions.finish(plan, result)
    assert compacted.offsets == [2]
    compacted.log.delete_records_before(3)
    retention_round(compacted.store.manager, START_MS)
    assert [segment.base_offset for segment in compacted.log.segments] == [3]


def test_delete_and_compact_together():
    compacted = Compacted(LogConfig(compact=True, delete=True, retention_ms=DAY, min_cleanable_dirty_ratio=0.0))
    compacted.send((b"a", b"1"), (b"b", b"1"))
    compacted.send((b"b", b"2"))
    compacted.clean()
    assert compacted.offsets == [0, 2]
    compacted.store.clock.advance(DAY)
    compacted.send((b"c", b"3"), timestamp=START_MS + DAY)
    retention_round(compacted.store.manager, START_MS + DAY + 2)
    assert compacted.offsets == [3]
    assert compacted.log.log_start_offset == 3
