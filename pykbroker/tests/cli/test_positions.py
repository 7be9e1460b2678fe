"""Places in partitions, as people write them."""

from __future__ import annotations

import pytest

from pykbroker.cli.positions import OffsetPosition, parse_places
from pykbroker.client.errors import UsageError

BEGINNING, END = 10, 100


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("0", 0),
        ("42", 42),
        ("-10", 90),
        ("end", 100),
        ("end-5", 95),
        ("end+1", 101),
        ("beginning", 10),
        ("start", 10),
        ("beginning+5", 15),
        ("start+5", 15),
        ("-1000", 0),
    ],
)
def test_one_place_for_all_partitions(text: str, offset: int) -> None:
    place = parse_places(text).place(3)
    assert place is not None
    assert place.offset(BEGINNING, END) == offset


def test_a_place_for_each_partition() -> None:
    places = parse_places("0:100, 1:end-5,2:-3")
    assert places.place(0) == OffsetPosition(None, 100)
    assert places.place(1) == OffsetPosition("end", -5)
    assert places.place(2) == OffsetPosition("end", -3)
    assert places.place(3) is None
    assert parse_places("end,1:7").place(0) == OffsetPosition("end", 0)
    assert parse_places("end,1:7").place(1) == OffsetPosition(None, 7)


def test_a_partition_that_is_not_there() -> None:
    places = parse_places("0:1,7:end")
    places.check([0, 7])
    with pytest.raises(UsageError, match="no partition 7"):
        places.check([0, 1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a place"),
        ("frog", "is not a place"),
        ("end5", r"write end\+5 or end-5"),
        ("1.5", "is not a place"),
        ("0:", "is not a place"),
        ("a:5", "is not the number of a partition"),
        ("-1:5", "is not the number of a partition"),
        ("0:1,0:2", "two places for partition 0"),
        ("1,2", "two places for the same partitions"),
        ("--5", "is not a place"),
    ],
)
def test_what_is_no_place(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_places(text)
