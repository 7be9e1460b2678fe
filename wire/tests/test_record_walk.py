"""The walk over records: it finds what ``decode_records`` finds, in the memory of a few pieces."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.wire.compression import Compression, compress, decompressed_pieces
from pykbroker.wire.errors import WireError
from pykbroker.wire.record_walk import RecordTooLarge, RecordWalk, decode_one_by_one
from pykbroker.wire.records import (
    HEADER_SIZE,
    Record,
    decode_records,
    encode_batch,
    read_batch_header,
)

codecs = st.sampled_from(Compression)
blobs = st.none() | st.binary(max_size=300) | st.integers(60_000, 300_000).map(bytes)
headers = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=200)), max_size=3).map(tuple)
records = st.lists(
    st.builds(
        lambda timestamp, key, value, headers: Record(timestamp=timestamp, key=key, value=value, headers=headers),
        st.integers(0, 2**48),
        blobs,
        blobs,
        headers,
    ),
    min_size=1,
    max_size=6,
)


def of(content: list[Record], **how: object) -> bytes:
    return encode_batch(content, **how)  # type: ignore[arg-type]


@given(records, codecs, st.booleans(), st.sampled_from((None, 5)))
def test_a_walk_finds_what_decoding_finds(
    content: list[Record], codec: Compression, whole: bool, append_time: int | None
) -> None:
    batch = of(content, compression=codec, append_time=append_time)
    header = read_batch_header(batch)
    walked = list(RecordWalk(batch, header, whole=whole).records())
    decoded = decode_records(batch)
    assert [(each.offset_delta, each.timestamp, each.has_key) for each in walked] == [
        (record.offset, record.timestamp, record.key is not None) for record in decoded
    ]
    assert all(bool(each.rest) == whole for each in walked)
    assert list(decode_one_by_one(batch, header)) == decoded


@given(records, codecs, st.integers(0, 2000), st.integers(0, 255), st.booleans())
def test_damage_is_found_where_decoding_finds_it(
    content: list[Record], codec: Compression, at: int, byte: int, whole: bool
) -> None:
    batch = bytearray(of(content, compression=codec))
    batch[HEADER_SIZE + at % (len(batch) - HEADER_SIZE)] = byte
    header = read_batch_header(batch)
    try:
        expected: list[Record] | None = decode_records(batch, header=header)
    except (WireError, OverflowError):
        expected = None
    try:
        found = list(RecordWalk(batch, header, whole=whole).records())
    except WireError:
        found = None  # type: ignore[assignment]
    assert (found is None) == (expected is None)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
@pytest.mark.deep(but=1)
def test_a_record_of_any_size_needs_the_memory_of_some_pieces(codec: Compression) -> None:
    batch = of([Record(timestamp=0, key=b"k", value=bytes(100_000_000))], compression=codec)
    tracemalloc.start()
    try:
        assert len(list(RecordWalk(batch, read_batch_header(batch)).records())) == 1
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_record_beyond_the_limit_is_refused_before_it_is_decompressed() -> None:
    batch = of([Record(timestamp=0, value=bytes(100_000_000))], compression=Compression.ZSTD)
    header = read_batch_header(batch)
    tracemalloc.start()
    try:
        with pytest.raises(RecordTooLarge):
            list(RecordWalk(batch, header, max_record_bytes=1000, whole=True).records())
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_the_limit_is_on_records_of_compressed_batches_alone() -> None:
    plain = of([Record(timestamp=0, value=bytes(2000))])
    assert list(RecordWalk(plain, read_batch_header(plain), max_record_bytes=1000).records())
    several = of([Record(timestamp=0, value=bytes(900))] * 50, compression=Compression.GZIP)
    assert len(list(RecordWalk(several, read_batch_header(several), max_record_bytes=1000).records())) == 50


def test_a_block_of_zstd_at_a_time_is_decompressed() -> None:
    """A thousand bytes of input hold tens of megabytes: given to the library at once, they would be that in one piece."""
    packed = compress(Compression.ZSTD, bytes(100_000_000))
    assert max(map(len, decompressed_pieces(Compression.ZSTD, packed))) <= 128 * 1024
