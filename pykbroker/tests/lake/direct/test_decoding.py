from __future__ import annotations

from random import Random

import pytest

from pykbroker.lake.direct.decoding import Decoded, decode
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, TimestampType, read_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import Record, decode_records, encode_batch

Batch = tuple[BatchHeader, bytes]


def batch_of(data: bytes) -> Batch:
    return read_batch_header(data), data[HEADER_SIZE:]


def records(random: Random, first: int, count: int, *, headers: bool) -> list[Record]:
    """Offsets with gaps, timestamps that go back, lengths on both sides of where a varint grows, and whatever may be null."""

    def content() -> bytes | None:
        size = random.choice((0, 1, 60, 63, 64, 200, 8191, 8192, None))
        return None if size is None else random.randbytes(size)

    pairs = [("a", b"1"), ("ü", None), ("", b""), ("a", b"x" * 70)]
    return [
        Record(
            first + 3 * number,
            1_357_041_600_000 + random.randrange(-(1 << 40), 1 << 40),
            content(),
            content(),
            random.choices(pairs, k=random.choice((0, 0, 1, 5))) if headers else (),
        )
        for number in range(count)
    ]


def as_records(decoded: Decoded) -> list[Record]:
    pairs = decoded.headers.to_pylist() if decoded.headers is not None else [None] * len(decoded.offsets)
    return [
        Record(offset, timestamp, key, value, [(pair["key"], pair["value"]) for pair in each or ()])
        for offset, timestamp, key, value, each in zip(
            decoded.offsets.tolist(), decoded.timestamps_ms.tolist(), decoded.keys.to_pylist(),
            decoded.values.to_pylist(), pairs, strict=True,
        )
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 3, 200], ids=["one", "few", "many side by side"])
@pytest.mark.parametrize("headers", [False, True], ids=["plain", "with headers"])
def test_records_are_those_that_the_plain_decoder_finds(count: int, headers: bool) -> None:
    random = Random(count)
    written = [
        bytes(encode_batch(records(random, 1000 * number, random.randrange(1, 12), headers=headers)))
        for number in range(count)
    ]
    wanted = [record for data in written for record in decode_records(data)]
    found = as_records(decode([batch_of(data) for data in written], headers=True))
    assert [(each.offset, each.timestamp, each.key, each.value, list(each.headers)) for each in found] == [
        (each.offset, each.timestamp, each.key, each.value, list(each.headers)) for each in wanted
    ]


def test_no_headers_are_null_and_unwanted_ones_are_left_out() -> None:
    plain, with_headers = encode_batch([Record(0, 1)]), encode_batch([Record(1, 1, headers=[("a", b"1")])])
    batches = [batch_of(bytes(plain)), batch_of(bytes(with_headers))]
    both = decode(batches, headers=True).headers
    assert both is not None
    assert both.to_pylist() == [None, [{"key": "a", "value": b"1"}]]
    only = decode(batches[:1], headers=True).headers
    assert only is not None
    assert (only.type, only.to_pylist()) == (both.type, [None])
    assert decode(batches, headers=False).headers is None


def test_the_largest_timestamp_of_a_batch_is_that_of_its_records_where_the_broker_set_it() -> None:
    appended = encode_batch([Record(0, 5), Record(1, 6)], timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=9)
    decoded = decode([batch_of(bytes(encode_batch([Record(7, 5)]))), batch_of(bytes(appended))], headers=False)
    assert decoded.timestamps_ms.tolist() == [5, 9, 9]
    assert decoded.timestamp_types.tolist() == [0, 1, 1]


@pytest.mark.parametrize("count", [1, 100], ids=["few", "many side by side"])
def test_any_damage_is_an_error_or_other_records_and_never_a_crash(count: int) -> None:
    random = Random(7)
    whole = [bytes(encode_batch(records(random, 0, 4, headers=True))) for _ in range(count)]
    refused = 0
    for _ in range(150):
        damaged = [bytearray(data) for data in whole]
        victim = random.choice(damaged)
        victim[random.randrange(HEADER_SIZE, min(len(victim), HEADER_SIZE + 12))] = random.randrange(256)
        try:
            decode([batch_of(bytes(data)) for data in damaged], headers=True)
        except WireError:
            refused += 1
    assert refused > 50


def test_a_batch_with_other_than_its_number_of_records_is_named() -> None:
    header, payload = batch_of(bytes(encode_batch([Record(40), Record(41)], base_offset=40)))
    for count in (1, 3, -1):
        header.record_count = count
        with pytest.raises(WireError, match=f"batch at offset 40 does not hold its {count} records"):
            decode([(header, payload)], headers=False)
        with pytest.raises(WireError, match=f"batch at offset 40 does not hold its {count} records"):
            decode([(header, payload)] * 64, headers=False)
