"""Orders of Java's maps: hashes as OpenJDK 17 makes them, lists as Apache Kafka 4.4.0 answers them."""

from __future__ import annotations

import pytest

from pykbroker.metadata.java_maps import hash_of_map, hash_of_text, in_map_order, table_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("abc", 96354), ("é", 233), ("😀", 1772899), ("retention.ms", -1339220362)],
)
def test_a_text_has_the_hash_it_has_in_java(text: str, expected: int) -> None:
    assert hash_of_text(text) == expected & 0xFFFF_FFFF


def test_a_map_has_the_hash_it_has_in_java() -> None:
    assert hash_of_map({}) == 0
    assert hash_of_map({"user": None}) == hash_of_text("user")
    assert hash_of_map({"user": "a", "ip": "b"}) == hash_of_map({"ip": "b", "user": "a"})
    assert hash_of_map({"user": "user"}) == 0


@pytest.mark.parametrize(
    ("count", "places"), [(0, 2), (1, 2), (2, 4), (3, 4), (4, 8), (6, 8), (7, 16), (13, 32), (33, 64)]
)
def test_a_map_grows_when_three_quarters_are_taken(count: int, places: int) -> None:
    assert table_size(count) == places


def test_keys_come_by_their_places_and_in_one_place_as_they_were_put() -> None:
    assert in_map_order([5, 4, 1, 3], lambda key: key) == [1, 3, 4, 5]
    assert in_map_order([5, 1, 2], lambda key: key) == [5, 1, 2]
    assert in_map_order([1, 5, 2], lambda key: key) == [1, 5, 2]
    assert in_map_order([5, 1, 2], lambda key: key, at_least=8) == [1, 2, 5]
    assert in_map_order([5, 1, 2], lambda key: key, count=4) == [1, 2, 5]
    assert in_map_order([0x20000, 1], lambda key: key) == [1, 0x20000]
