"""Batches that hold much are compacted as others are, in the memory of a record."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.storage.compaction.cleaned_batches import keep_records, scan_batch, with_delete_horizon
from pykbroker.storage.compaction.large_batches import RECORDS_AT_ONCE, LargeBatch, StaysWhole, is_large
from pykbroker.storage.log.config import LogConfig
from pykbroker.wire.compression import Compression
from pykbroker.wire.record_walk import RecordTooLarge
from pykbroker.wire.records import Record, decode_records, encode_batch, read_batch_header

LITTLE = 0
values = st.none() | st.binary(max_size=30)
some_records = st.lists(
    st.builds(
        lambda timestamp, key, value: Record(timestamp=timestamp, key=key, value=value),
        st.integers(0, 2**40),
        values,
        values,
    ),
    min_size=1,
    max_size=12,
)


def large(batch: bytes, config: LogConfig | None = None) -> LargeBatch:
    return LargeBatch(read_batch_header(batch), batch, config or LogConfig(), LITTLE)


@given(some_records, st.sampled_from(Compression), st.sampled_from((None, 5)), st.integers(0, 2**12), st.booleans())
def test_it_is_compacted_as_any_other(
    content: list[Record], codec: Compression, append_time: int | None, mask: int, marked: bool
) -> None:
    batch = encode_batch(content, base_offset=7, compression=codec, append_time=append_time)
    header = read_batch_header(batch)
    scanned = scan_batch(header, batch)
    (found,) = large(batch).some_keys()
    assert found == (scanned.keys, scanned.tombstones)
    staying, has_tombstone = large(batch).staying(lambda number, _: bool(mask >> number & 1), without_tombstones=False)
    kept = [number for number in range(len(content)) if staying[number]]
    assert kept == [number for number in range(len(content)) if mask >> number & 1]
    assert has_tombstone == (not set(kept).isdisjoint(scanned.tombstones))
    if not kept:
        return
    expected = keep_records(scanned, kept, None)
    if marked:
        expected = with_delete_horizon(*expected, 99, None)
    smaller, data = large(batch).written(staying, 99 if marked else None, None)
    assert decode_records(data) == decode_records(expected[1])
    told, wanted = read_batch_header(data), read_batch_header(expected[1])
    for name in ("attributes", "base_timestamp", "max_timestamp", "last_offset_delta", "base_offset", "record_count"):
        assert getattr(told, name) == getattr(wanted, name) == getattr(smaller, name), name


def test_tombstones_go_when_their_time_is_over() -> None:
    batch = encode_batch([Record(timestamp=1, key=b"a"), Record(timestamp=1, key=b"b", value=b"v")])
    staying, has_tombstone = large(batch).staying(lambda *_: True, without_tombstones=True)
    assert (bytes(staying), has_tombstone) == (b"\0\1", False)


def test_a_record_that_cannot_be_held_lets_the_batch_stay_and_one_beyond_the_setting_stops_compaction() -> None:
    batch = encode_batch([Record(timestamp=1, key=b"a", value=bytes(40_000_000))], compression=Compression.ZSTD)
    with pytest.raises(StaysWhole):
        list(large(batch).some_keys())
    with pytest.raises(RecordTooLarge):
        list(large(batch, LogConfig(max_decompressed_message_bytes=1000)).some_keys())


def test_which_batches_are_large() -> None:
    few = encode_batch([Record(timestamp=1, key=b"a")], compression=Compression.GZIP)
    assert not is_large(read_batch_header(few), LogConfig())
    assert is_large(read_batch_header(few), LogConfig(max_decompressed_message_bytes=1000))
    many = read_batch_header(few)
    many.record_count = RECORDS_AT_ONCE + 1
    assert is_large(many, LogConfig())


def test_it_needs_the_memory_of_a_record() -> None:
    record = Record(timestamp=1, key=b"k", value=bytes(1_000_000))
    batch = encode_batch([record] * 50, compression=Compression.ZSTD)
    tracemalloc.start()
    try:
        staying, _ = large(batch).staying(lambda number, _: number % 2 == 0, without_tombstones=False)
        _, data = large(batch).written(staying, None, None)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert read_batch_header(data).record_count == 25
