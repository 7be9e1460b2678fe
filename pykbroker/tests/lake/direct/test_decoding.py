from __future__ import annotations

from random import Random

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.lake.direct.decoding import DecodedRecords, decode, from_headers
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, read_batch_header
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


def as_records(decoded: DecodedRecords) -> list[Record]:
    pairs = decoded.content["headers"].to_pylist()
    return [
        Record(offset, timestamp, key, value, [(pair["key"], pair["value"]) for pair in each or ()])
        for offset, timestamp, key, value, each in zip(
            decoded.offsets.tolist(), decoded.timestamps_ms.tolist(), decoded.content["key"].to_pylist(),
            decoded.content["value"].to_pylist(), pairs, strict=True,
        )
    ]  # fmt: skip


def plain(records: list[Record]) -> list[Record]:
    return [
        Record(each.offset, each.timestamp, each.key, each.value, [(key.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), value) for key, value in each.headers])
        for each in records
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
    assert as_records(decode([batch_of(data) for data in written])) == plain(wanted)


RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(-1),
        timestamp=st.integers(-1, 1 << 62) | st.just(1_357_041_600_000),
        key=st.none() | st.binary(max_size=70),
        value=st.none() | st.binary(max_size=200),
        headers=st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2),
    ),
    min_size=1,
    max_size=8,
)


@given(st.lists(RECORDS, min_size=1, max_size=4), st.sampled_from((None, -1, 9)), st.sampled_from((1, 40)))
def test_any_batches_are_read_as_the_plain_decoder_reads_them(
    drawn: list[list[Record]], append_time: int | None, times: int
) -> None:
    """Often enough one after the other they are read in many lanes."""
    written = [bytes(encode_batch(each, base_offset=100, append_time=append_time)) for each in drawn] * times
    wanted = [record for data in written for record in decode_records(data)]
    assert as_records(decode([batch_of(data) for data in written])) == plain(wanted)


@given(RECORDS, st.data(), st.sampled_from((1, 200)))
def test_damage_is_refused_where_the_plain_decoder_refuses_it(
    drawn: list[Record], data: st.DataObject, times: int
) -> None:
    """And what that takes for records is read alike."""
    damaged = bytearray(encode_batch(drawn))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(HEADER_SIZE, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        wanted = plain(decode_records(bytes(damaged)))
    except WireError:
        with pytest.raises(WireError):
            decode([batch_of(bytes(damaged))] * times)
    else:
        assert as_records(decode([batch_of(bytes(damaged))] * times)) == wanted * times


def test_no_headers_are_null() -> None:
    written = encode_batch([Record(0, 1)]), encode_batch([Record(1, 1, headers=[("a", b"1")])])
    batches = [batch_of(bytes(data)) for data in written]
    both, only = (decode(each).content["headers"] for each in (batches, batches[:1]))
    assert both.to_pylist() == [None, [{"key": "a", "value": b"1"}]]
    assert (only.type, only.to_pylist()) == (both.type, [None])


def test_what_nobody_asked_for_is_not_gathered() -> None:
    batches = [batch_of(bytes(encode_batch([Record(0, 1, b"k", b"v")])))]
    assert {name: each.to_pylist() for name, each in decode(batches, {"value", "offset"}).content.items()} == {
        "value": [b"v"]
    }
    assert decode(batches, ()).content == {}


def test_the_largest_timestamp_of_a_batch_is_that_of_its_records_where_the_broker_set_it() -> None:
    appended = encode_batch([Record(0, 5), Record(1, 6)], append_time=9)
    batches = [batch_of(bytes(encode_batch([Record(7, 5)]))), batch_of(bytes(appended))]
    decoded = decode(batches)
    assert decoded.timestamps_ms.tolist() == [5, 9, 9]
    assert decoded.timestamp_types.tolist() == [0, 1, 1]


def test_headers_of_batches_say_offsets_and_the_times_that_the_broker_set() -> None:
    appended = encode_batch([Record(), Record()], base_offset=3, append_time=9)
    batches = [batch_of(bytes(encode_batch([Record(7, 5)], base_offset=7))), batch_of(bytes(appended))]
    found = from_headers([header for header, _ in batches])
    assert found.offsets.tolist() == [7, 3, 4]
    assert found.timestamps_ms.tolist()[1:] == [9, 9]
    assert found.timestamp_types.tolist() == [0, 1, 1]


def test_a_batch_with_other_than_its_number_of_records_is_named() -> None:
    header, payload = batch_of(bytes(encode_batch([Record(40), Record(41)], base_offset=40)))
    for count in (1, 3, -1, 1 << 30):
        header.record_count = count
        for batches in ([(header, payload)], [(header, payload)] * 200):
            with pytest.raises(WireError, match=f"batch at offset 40 does not hold its {count} records"):
                decode(batches)


def test_a_timestamp_beyond_64_bits_is_refused() -> None:
    header, payload = batch_of(bytes(encode_batch([Record(0, 0), Record(1, 5)])))
    header.base_timestamp = (1 << 63) - 5
    with pytest.raises(WireError, match="timestamp does not fit 64 bits"):
        decode([(header, payload)])
