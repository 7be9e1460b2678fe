"""Varints, UUIDs and strings."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.wire.errors import WireError
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.primitives import (
    ZERO_UUID,
    read_compact_strings,
    read_uvarint,
    uuid_from_str,
    uuid_to_str,
    uvarint,
    write_compact_strings,
)


@given(st.integers(0, 2**32 - 1))
def test_varints_are_read_back(value: int) -> None:
    data = uvarint(value)
    assert read_uvarint(data + b"rest", 0) == (value, len(data))
    assert len(data) == max(1, -(-value.bit_length() // 7))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (16383, "ff7f"), (16384, "808001"), (2**32 - 1, "ffffffff0f")],
)
def test_varints_have_seven_bits_a_byte(value: int, data: str) -> None:
    assert uvarint(value).hex() == data


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\x1f", b"\x80\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\xff"])
def test_varints_longer_than_32_bits_are_refused(data: bytes) -> None:
    with pytest.raises(WireError, match="32 bits"):
        read_uvarint(data, 0)


@pytest.mark.parametrize("value", [-1, 2**32])
def test_numbers_no_varint_holds_are_refused(value: int) -> None:
    with pytest.raises(WireError, match="does not fit"):
        uvarint(value)


@given(
    st.lists(st.sampled_from(["", "a", "\u00e4" * 63, "b" * 126, "c" * 127, "d" * 20_000]), max_size=40),
    st.sampled_from([1, 20]),
)
def test_compact_strings_are_read_back_few_or_many(strings: list[str], times: int) -> None:
    strings = strings * times
    out = bytearray()
    write_compact_strings(out, strings)
    assert read_compact_strings(out, 0, len(strings)) == (strings, len(out))


@pytest.mark.parametrize("count", [1, 100])
def test_what_no_utf_8_has_is_refused_in_few_strings_and_in_many(count: int) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_compact_strings(bytearray(), ["\ud800"] * count)


@given(st.binary(min_size=16, max_size=16))
def test_uuids_are_read_back(value: bytes) -> None:
    assert uuid_from_str(uuid_to_str(value)) == value


def test_uuids_print_as_kafka_prints_them() -> None:
    """The strings of Uuid.ZERO_UUID and of Uuid.METADATA_TOPIC_ID in org.apache.kafka.common.Uuid."""
    assert uuid_to_str(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_to_str(bytes(15) + b"\1") == "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize("text", ["", "AAAA", "not base64 at all!!!!!", "AAAAAAAAAAAAAAAAAAAAAAAA"])
def test_text_that_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        uuid_from_str(text)


def test_an_array_has_a_million_elements_at_most() -> None:
    """Apache Kafka 4.4.0 refuses one element more, as this does, before anything is made for them."""
    for count in (1_000_000, 1_000_001):
        plain = pack(">i", count) + bytes(2 * count)
        flexible = uvarint(count + 1) + b"\x01" * count + b"\x00"
        for data, version in ((plain, 1), (flexible, 2)):
            if count == 1_000_000:
                assert len(DeleteGroupsRequest.decode(data, 0, version)[0].groups_names) == count
            else:
                with pytest.raises(WireError, match="an array of 1000001 elements is longer than 1000000"):
                    DeleteGroupsRequest.decode(data, 0, version)


def test_a_struct_has_ten_thousand_tagged_fields_at_most() -> None:
    for count in (10_000, 10_001):
        tags = b"".join(uvarint(tag) + b"\x00" for tag in range(count))
        data = b"\x01" + uvarint(count) + tags
        if count == 10_000:
            assert len(DeleteGroupsRequest.decode(data, 0, 2)[0].unknown_tagged_fields or ()) == count
        else:
            with pytest.raises(WireError, match="10001 tagged fields are more than 10000"):
                DeleteGroupsRequest.decode(data, 0, 2)
