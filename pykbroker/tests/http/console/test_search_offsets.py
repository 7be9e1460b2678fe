"""Which partitions are meant, and where a search goes on."""

from __future__ import annotations

import pytest

from pykbroker.http.console.search_offsets import MOST_PARTITIONS, OffsetRange, chosen, end_of, read, written
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import Record, encode_batch


@pytest.mark.parametrize(
    ("text", "indexes"),
    [("", [0, 1, 2, 3, 4]), ("3", [3]), ("4,0", [4, 0]), ("1-3", [1, 2, 3]), (" 0 , 2-9 ", [0, 2, 3, 4]), ("2,2", [2])],
)
def test_partitions_as_people_write_them(text: str, indexes: list[int]) -> None:
    assert chosen(text, 5) == indexes


@pytest.mark.parametrize("text", ["a", "-1", "1-", "1-2-3", "٣", "1e3", "0x1", "1" * 30, "5", "7-9"])
def test_what_is_no_partition(text: str) -> None:
    with pytest.raises(VerbRefused):
        chosen(text, 5)


def test_so_many_at_once_and_no_more() -> None:
    assert len(chosen(f"0-{MOST_PARTITIONS - 1}", 10_000)) == MOST_PARTITIONS
    for text in ("", f"0-{MOST_PARTITIONS}", "0-999999999"):
        with pytest.raises(VerbRefused, match="say which"):
            chosen(text, 10_000)


def test_places_are_read_as_they_were_written() -> None:
    places = [OffsetRange(0, 3, 9), OffsetRange(7, 0, 2**53 - 1)]
    assert read(written(places)) == places
    assert written([OffsetRange(0, 4, 4)]) == ""


def _batches() -> bytes:
    """Offsets 5 to 6, 9, and 12 to 14."""
    records = [Record(timestamp=0, value=b"v")]
    return b"".join(encode_batch(records * count, base_offset=at) for at, count in ((5, 2), (9, 1), (12, 3)))


@pytest.mark.parametrize(("before", "end"), [(2**63 - 1, 15), (13, 15), (12, 10), (9, 7), (6, 7), (5, 0)])
def test_the_end_of_batches(before: int, end: int) -> None:
    assert end_of(memoryview(_batches()), before) == end


def test_no_batches_end_nowhere() -> None:
    assert end_of(b"") == 0


@pytest.mark.parametrize("cut", [1, 20, 70])
def test_an_incomplete_batch(cut: int) -> None:
    with pytest.raises(WireError):
        end_of(_batches()[:-cut])


@pytest.mark.parametrize("length", [-(2**31), -12, 0, 48])
def test_a_length_that_no_batch_has(length: int) -> None:
    raw = bytearray(_batches())
    raw[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(WireError):
        end_of(raw)
