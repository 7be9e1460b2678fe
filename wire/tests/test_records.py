"""Record batches: round trips, and everything that hostile bytes may try."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.wire.batch_header import ATTRIBUTES_AT, write_crc
from pykbroker.wire.control_records import (
    ControlRecordType,
    EndTxnMarker,
    decode_control_key,
    decode_end_txn_marker,
    encode_control_key,
    encode_end_txn_batch,
)
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import (
    HEADER_SIZE,
    Compression,
    Record,
    TimestampType,
    UnsupportedMagicError,
    batch_crc_ok,
    decode_records,
    decode_some,
    encode_batch,
    iter_batches,
    patch_batch,
    patch_timestamps,
    read_batch_header,
    reencode_batch,
    unpacked,
)

codecs = st.sampled_from(Compression)
blobs = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=20), blobs), max_size=4).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    """Records with offsets that rise from somewhere, in any order of timestamps."""
    offset = draw(st.integers(0, 2**62))
    records = []
    for gap in draw(st.lists(st.integers(1, 2**20), min_size=1, max_size=30)):
        timestamp = draw(st.integers(-1, 2**43) | st.integers(0, 2**62))
        records.append(Record(offset, timestamp, draw(blobs), draw(blobs), draw(headers)))
        offset += gap
    return records


def resealed(batch: bytearray) -> bytes:
    """The batch with its CRC made right again."""
    write_crc(batch, 0, len(batch))
    return bytes(batch)


def with_plain_records(payload: bytes, count: int) -> bytes:
    """A valid header in front of any bytes."""
    batch = bytearray(encode_batch([Record(value=b"")])[:HEADER_SIZE])
    batch += payload
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 57, count)
    return resealed(batch)


@given(record_lists(), codecs)
def test_records_come_back(records: list[Record], codec: Compression) -> None:
    batch = encode_batch(records, base_offset=records[0].offset, compression=codec)
    header = read_batch_header(batch)
    assert header.size == len(batch)
    assert header.compression is codec
    assert header.record_count == len(records)
    assert header.last_offset == records[-1].offset
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert batch_crc_ok(batch, 0, len(batch))
    assert decode_records(memoryview(batch)) == records


@given(record_lists(), codecs, st.integers(1, 9))
def test_records_come_some_at_a_time(records: list[Record], codec: Compression, at_once: int) -> None:
    batch = encode_batch(records, base_offset=records[0].offset, compression=codec)
    header = read_batch_header(batch)
    pieces = list(decode_some(unpacked(batch, header), header, at_once))
    assert [record for piece in pieces for record in piece] == records
    assert {len(piece) for piece in pieces[:-1]} <= {at_once}


@given(record_lists(), st.integers(1, 9), st.integers(1, 9))
def test_what_is_wrong_at_the_end_is_found_some_at_a_time_too(records: list[Record], at_once: int, more: int) -> None:
    """Bytes that are too many, and too few."""
    batch = encode_batch(records, base_offset=records[0].offset)
    header, payload = read_batch_header(batch), batch[HEADER_SIZE:]
    for wrong in (payload + bytes(more), payload[: -min(more, len(payload))]):
        with pytest.raises(WireError):
            list(decode_some(wrong, header, at_once))


@given(
    producer_id=st.integers(-1, 2**63 - 1),
    producer_epoch=st.integers(-1, 2**15 - 1),
    base_sequence=st.integers(-1, 2**31 - 1),
    leader_epoch=st.integers(-1, 2**31 - 1),
    transactional=st.booleans(),
    control=st.booleans(),
    delete_horizon=st.none() | st.integers(0, 2**62),
)
def test_header_fields_come_back(
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    leader_epoch: int,
    transactional: bool,
    control: bool,
    delete_horizon: int | None,
) -> None:
    batch = encode_batch(
        [Record(timestamp=5, value=b"x")],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        leader_epoch=leader_epoch,
        transactional=transactional,
        control=control,
    )
    batch = reencode_batch(read_batch_header(batch), decode_records(batch), delete_horizon=delete_horizon)
    header = read_batch_header(batch)
    assert (header.producer_id, header.producer_epoch) == (producer_id, producer_epoch)
    assert (header.base_sequence, header.partition_leader_epoch) == (base_sequence, leader_epoch)
    assert (header.is_transactional, header.is_control) == (transactional, control)
    assert header.has_delete_horizon == (delete_horizon is not None)
    assert header.has_producer_id == (producer_id != -1)
    assert decode_records(batch)[0].timestamp == 5


def test_records_without_offsets_follow_each_other() -> None:
    batch = encode_batch([Record(value=b"a"), Record(value=b"b"), Record(offset=14, value=b"c")], base_offset=10)
    assert [record.offset for record in decode_records(batch)] == [10, 11, 14]


def test_last_sequence_wraps() -> None:
    batch = encode_batch([Record(), Record(), Record()], producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    assert read_batch_header(batch).last_sequence == 0


def test_last_sequence_without_sequence() -> None:
    assert read_batch_header(encode_batch([Record(), Record()])).last_sequence == -1


@pytest.mark.parametrize("codec", Compression)
def test_empty_batch_keeps_its_header(codec: Compression) -> None:
    records = [Record(timestamp=70), Record(offset=9, timestamp=77)]
    batch = encode_batch(records, base_offset=5, compression=codec, producer_id=3)
    batch = reencode_batch(read_batch_header(batch), [])
    header = read_batch_header(batch)
    assert header.compression is Compression.NONE
    assert (header.last_offset, header.max_timestamp, header.producer_id, header.record_count) == (9, 77, 3, 0)
    assert len(batch) == HEADER_SIZE
    assert decode_records(batch) == []


def test_header_key_that_is_not_utf8_keeps_its_bytes() -> None:
    record = Record(offset=0, value=b"", headers=((b"\xff\xfe".decode("utf-8", "surrogateescape"), b"v"),))
    batch = encode_batch([record])
    assert b"\xff\xfe" in batch
    assert decode_records(batch) == [record]


def test_patch_batch_keeps_the_crc() -> None:
    batch = bytearray(b"before") + encode_batch([Record(value=b"x", timestamp=1)])
    patch_batch(batch, 6, 2**40, 7)
    header = read_batch_header(batch, 6)
    assert (header.base_offset, header.partition_leader_epoch) == (2**40, 7)
    assert batch_crc_ok(batch, 6, header.size)
    assert decode_records(batch[6:])[0].offset == 2**40


@pytest.mark.parametrize("codec", Compression)
def test_log_append_time_is_every_records_time(codec: Compression) -> None:
    batch = bytearray(encode_batch([Record(timestamp=1), Record(timestamp=2)], compression=codec))
    patch_timestamps(batch, 0, len(batch), TimestampType.LOG_APPEND_TIME, 1000)
    assert batch_crc_ok(batch, 0, len(batch))
    assert [record.timestamp for record in decode_records(batch)] == [1000, 1000]
    patch_timestamps(batch, 0, len(batch), TimestampType.CREATE_TIME, 2)
    assert [record.timestamp for record in decode_records(batch)] == [1, 2]


@given(st.integers(ATTRIBUTES_AT, HEADER_SIZE + 7), st.integers(1, 255))
def test_crc_sees_every_flipped_byte(position: int, flip: int) -> None:
    batch = bytearray(encode_batch([Record(value=b"x")]))
    batch[position] ^= flip
    assert not batch_crc_ok(batch, 0, len(batch))


def test_iter_batches_gives_each_its_place() -> None:
    batches = [encode_batch([Record(value=bytes(n))], base_offset=n) for n in range(5)]
    found = [(pos, header.base_offset) for pos, header in iter_batches(b"".join(batches))]
    assert found == [(sum(map(len, batches[:n])), n) for n in range(5)]


def test_iter_batches_refuses_a_torn_one() -> None:
    whole = encode_batch([Record(value=b"x")])
    with pytest.raises(WireError, match=r"a batch of 69 bytes where 68 remain"):
        list(iter_batches(whole + whole[:-1]))


# Refusals


@pytest.mark.parametrize("codec", Compression)
def test_every_truncation_is_refused(codec: Compression) -> None:
    records = [Record(0, n, b"key", b"value" * 9, (("h", b"v"),)) for n in range(3)]
    whole = encode_batch([Record(-1, r.timestamp, r.key, r.value, r.headers) for r in records], compression=codec)
    for size in range(len(whole)):
        with pytest.raises(WireError):
            decode_records(whole[:size])
        if size >= HEADER_SIZE:  # the length agrees, so that the records' own lengths must tell
            cut = bytearray(whole[:size])
            struct.pack_into(">i", cut, 8, size - 12)
            with pytest.raises(WireError):
                decode_records(resealed(cut))


@given(st.binary(max_size=200), st.integers(-5, 30) | st.integers(-(2**31), 2**31 - 1), st.integers(0, 127))
def test_any_bytes_give_records_or_a_wire_error(payload: bytes, count: int, attributes: int) -> None:
    batch = bytearray(with_plain_records(payload, count))
    struct.pack_into(">h", batch, ATTRIBUTES_AT, attributes)
    try:
        records = decode_records(resealed(batch))
    except WireError:
        return
    assert len(records) == count


@given(record_lists(), codecs, st.data())
def test_any_changed_byte_gives_records_or_a_wire_error(
    records: list[Record], codec: Compression, data: st.DataObject
) -> None:
    batch = bytearray(encode_batch(records, base_offset=records[0].offset, compression=codec))
    position = data.draw(st.integers(0, len(batch) - 1))
    batch[position] ^= data.draw(st.integers(1, 255))
    try:
        found = decode_records(batch, max_bytes=1 << 20)
    except WireError:
        return
    assert sum(len(each.value or b"") for each in found) <= 1 << 20


@pytest.mark.parametrize(
    ("payload", "count", "message"),
    [
        (b"\x0c\0\0\0\1\1\0" * 2, 1, "7 bytes remain after the last of 1 records"),
        (b"\x0c\0\0\0\1\1\0", -1, "a batch of -1 records"),
        (b"\x0c\0\0\0\1\1\0", 2**31 - 1, "a batch of 2147483647 records in 7 bytes"),
        (b"\x0e\0\0\0\1\1\0\0", 1, "a record ends 1 bytes early"),
        (b"\x0a\0\0\0\1\1\0", 1, "a record ends 1 bytes late"),
        (b"\x0b\0\0\0\1\1\0", 1, "a record ends 12 bytes late"),
        (b"\x10\0\0\0\1\1\xfe\xff\x03", 1, "32767 record headers where"),
        (b"\x0c\0\0\0\1\1\1", 1, "-1 record headers where"),
        (b"\x0e\0\0\0\1\1\2\1", 1, "a header key of -1 bytes"),
        (b"\x0e\0\0\0\1\1\2\x10", 1, "a header key of 8 bytes where 0 remain"),
        (b"\x14\0\0\0\xff\xff\xff\xff\xff\1\0", 1, "a varint is longer than 32 bits"),
        (b"\x20\0" + b"\xff" * 10 + b"\0\0\1\1\0", 1, "a varint is longer than 64 bits"),
        (b"\x0c\0\0\0\xfe\xff\xff\xff\x0f", 1, "the records end too early"),
        (b"\x1e\0" + b"\xfe" + b"\xff" * 8 + b"\1\0\1\1\0", 1, "does not fit 64 bits"),
    ],
)
def test_malformed_records(payload: bytes, count: int, message: str) -> None:
    batch = bytearray(with_plain_records(payload, count))
    struct.pack_into(">q", batch, 27, 1000)
    with pytest.raises(WireError, match=message):
        decode_records(resealed(batch))


@pytest.mark.parametrize("magic", [-1, 0, 1, 3])
def test_other_formats_are_refused_by_name(magic: int) -> None:
    batch = bytearray(encode_batch([Record(value=b"x")]))
    struct.pack_into(">b", batch, 16, magic)
    for bytes_of_it in (batch, batch[:17]):
        with pytest.raises(UnsupportedMagicError) as caught:
            read_batch_header(bytes_of_it)
        assert caught.value.magic == magic


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_impossible_batch_lengths(length: int) -> None:
    batch = bytearray(encode_batch([Record()]))
    struct.pack_into(">i", batch, 8, length)
    with pytest.raises(WireError, match="is less than its header"):
        read_batch_header(batch)


def test_unknown_codec() -> None:
    batch = bytearray(encode_batch([Record()]))
    struct.pack_into(">h", batch, ATTRIBUTES_AT, 5)
    with pytest.raises(WireError, match="unknown compression codec 5"):
        decode_records(resealed(batch))


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_larger_than_the_limit_is_refused(codec: Compression) -> None:
    batch = encode_batch([Record(value=bytes(10_000))], compression=codec)
    assert len(decode_records(batch, max_bytes=10_100)) == 1
    with pytest.raises(WireError, match="more than 10000 bytes"):
        decode_records(batch, max_bytes=10_000)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([Record(offset=5), Record(offset=5)], "cannot follow"),
        ([Record(offset=2**31)], "cannot follow"),
        ([Record(headers=(("\ud800", b""),))], "is not text"),
    ],
)
def test_what_a_batch_cannot_hold(records: list[Record], message: str) -> None:
    with pytest.raises(WireError, match=message):
        encode_batch(records)


def test_a_field_out_of_range() -> None:
    with pytest.raises(WireError, match="out of range"):
        encode_batch([Record()], producer_epoch=2**15)


# Control records


@given(st.booleans(), st.integers(-(2**31), 2**31 - 1))
def test_transaction_markers_come_back(commit: bool, coordinator_epoch: int) -> None:
    marker = EndTxnMarker(commit, coordinator_epoch)
    batch = encode_end_txn_batch(marker, producer_id=4, producer_epoch=1, timestamp=9, base_offset=12, leader_epoch=2)
    header = read_batch_header(batch)
    assert header.is_control
    assert header.is_transactional
    (record,) = decode_records(batch)
    assert record.offset == 12
    assert decode_end_txn_marker(record) == marker


def test_control_types_that_came_later_are_unknown() -> None:
    assert decode_control_key(struct.pack(">hh", 0, 99)) is ControlRecordType.UNKNOWN
    assert decode_control_key(struct.pack(">hhq", 3, 2, 0)) is ControlRecordType.LEADER_CHANGE


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_control_keys_without_a_type(key: bytes | None) -> None:
    with pytest.raises(WireError):
        decode_control_key(key)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ControlRecordType.LEADER_CHANGE, bytes(6)),
        (ControlRecordType.COMMIT, None),
        (ControlRecordType.COMMIT, bytes(5)),
        (ControlRecordType.ABORT, b"\xff\xff\0\0\0\0"),
    ],
)
def test_what_is_not_a_transaction_marker(kind: ControlRecordType, value: bytes | None) -> None:
    with pytest.raises(WireError):
        decode_end_txn_marker(Record(key=encode_control_key(kind), value=value))
