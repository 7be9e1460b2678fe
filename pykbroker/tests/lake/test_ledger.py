from __future__ import annotations

import json

from pykbroker.lake.ledger import (
    MOST_RANGES,
    LakePartition,
    LedgerEntry,
    Lost,
    PartitionProgress,
    as_numbers,
    behind,
    expired,
    flat,
    nested,
    offsets_of,
    recreated,
    source_offsets,
)

A0, A1, B0 = LakePartition("a", 0), LakePartition("a", 1), LakePartition("b", 0)


def test_a_partition_begins_where_the_stream_began_or_at_zero_when_it_came_later() -> None:
    first = LedgerEntry().after(0, "t0", {A0: 10}, {A0: 4}, {A0: 5}, {})
    assert first.partitions == {A0: PartitionProgress(4, 10, 5)}
    second = first.after(1, "t1", {A0: 12, B0: 3}, {A0: 4}, {A0: 2, B0: 3}, {})
    assert second.partitions == {A0: PartitionProgress(4, 12, 7), B0: PartitionProgress(0, 3, 3)}
    assert (second.rows, second.total_rows) == (5, 10)


def test_an_initial_offset_beyond_the_first_end_is_the_end() -> None:
    """A topic was made anew between the stream's beginning and its first batch."""
    assert LedgerEntry().starts({A0: 3}, {A0: 9}) == {A0: 3}


def test_what_is_lost_is_kept_and_partitions_that_are_gone_stay() -> None:
    first = LedgerEntry().after(0, "", {A0: 10, A1: 5}, {}, {A0: 10, A1: 5}, {})
    second = first.after(1, "", {A0: 20}, {}, {A0: 5}, {A0: Lost(5, ((10, 15),))})
    third = second.after(2, "", {A0: 30}, {}, {A0: 9}, {A0: Lost(1, ((20, 21),))})
    assert third.partitions == {
        A0: PartitionProgress(0, 30, 24, Lost(6, ((10, 15), (20, 21)))),
        A1: PartitionProgress(0, 5, 5),
    }
    assert [row["lost"] for row in as_numbers(third)] == [6, 0]


def test_of_what_is_lost_the_longest_ranges_are_kept_and_all_offsets_counted() -> None:
    """However long a topic is lost record by record, an entry stays small."""
    long = Lost(60, ((1000, 1020), (2000, 2040)))
    short = Lost(150, tuple((2 * each, 2 * each + 1) for each in range(150)))
    both = short.and_then(long)
    assert both.offsets == 210
    assert len(both.ranges) == MOST_RANGES
    assert both.ranges[-2:] == long.ranges
    assert list(both.ranges) == sorted(both.ranges)


def test_an_entry_is_read_as_it_was_written() -> None:
    entry = LedgerEntry(
        7,
        "2026-01-31T00:00:00.000Z",
        3,
        {A1: PartitionProgress(1, 9, 5, Lost(7, ((2, 4),))), B0: PartitionProgress(0, 0)},
    )
    assert LedgerEntry.from_json(entry.to_json()) == entry


def test_offsets_are_read_as_spark_writes_them() -> None:
    assert offsets_of('\0v1\n{"a":{"0":12,"1":3}}') == {A0: 12, A1: 3}
    assert source_offsets('v1\n{"batchWatermarkMs":0}\n{"b":{"0":1}}') == {B0: 1}
    assert flat(nested({A0: 1, A1: 2, B0: 3})) == {A0: 1, A1: 2, B0: 3}


def test_topics_keep_their_ids_and_a_lake_that_knew_none_learns_them() -> None:
    first = LedgerEntry().with_ids({"a": "i", "b": "j"}).after(0, "", {A0: 10}, {}, {}, {})
    second = first.with_ids({"a": "i"}).after(1, "", {A0: 12}, {}, {}, {})
    assert second.ids == {"a": "i", "b": "j"}
    assert LedgerEntry.from_json(second.to_json()) == second
    old = json.loads(second.to_json())
    del old["topics"]
    assert LedgerEntry.from_json(json.dumps(old)).ids == {}


def test_a_topic_made_anew_is_known_by_its_id_however_long_it_is() -> None:
    entry = LedgerEntry(0, "", 0, {A0: PartitionProgress(0, 10), B0: PartitionProgress(0, 10)}, {"a": "i"})
    ends = {A0: 99, B0: 99}
    assert recreated(entry, ends, {"a": "i", "b": "j"}) == {}
    assert recreated(entry, ends, {"b": "j"}) == {}  # it is not there now
    assert recreated(entry, ends, {"a": "k"}) == {A0: "archived from the topic of id i, and a has the id k now"}


def test_what_expired_and_what_shrank() -> None:
    entry = LedgerEntry(
        0, "", 0, {A0: PartitionProgress(0, 10), A1: PartitionProgress(0, 10), B0: PartitionProgress(0, 10)}
    )
    assert list(expired(entry, {A0: 10, A1: 11})) == [(A1, (10, 11))]
    assert recreated(entry, {A0: 10, A1: 9}, {}) == {A1: "archived up to offset 10, and it ends at 9 now"}


def test_what_is_behind_counts_neither_what_was_read_nor_what_is_gone() -> None:
    entry = LedgerEntry(0, "", 0, {A0: PartitionProgress(0, 10), A1: PartitionProgress(0, 4)})
    assert behind(entry, {A0: 0, A1: 6, B0: 2}, {A0: 10, A1: 9, B0: 5}) == 3 + 3
    assert behind(LedgerEntry(), {B0: 7}, {B0: 7}) == 0
