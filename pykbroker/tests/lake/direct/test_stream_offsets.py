from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from pykbroker.lake.direct.log_files import LogFiles
from pykbroker.lake.direct.stream_offsets import Position, between
from pykbroker.lake.errors import DataLost
from pykbroker.lake.ledger import LakePartition

A, B = LakePartition("a", 0), LakePartition("a", 1)
LOG = LogFiles(A, "/data/a-0", 2, 10, "old")


def ranges(begin: Position, end: Position, *logs: LogFiles, fail: bool = True) -> list[tuple[LakePartition, int, int]]:
    found = between(begin, end, {log.place: log for log in logs}, fail_on_data_loss=fail)
    return [(each.log.place, each.start, each.until) for each in found]


def test_spark_keeps_offsets_with_the_ids_of_topics() -> None:
    position = Position.of({A: 7, B: 8}, {A: LOG, B: replace(LOG, place=B)})
    assert position.to_spark() == {"a": {"0": 7, "1": 8}, "topic ids": {"a": "old"}}
    assert Position.from_spark(position.to_spark()) == position
    assert Position.of({A: 7}, {A: replace(LOG, topic_id=None)}).to_spark() == {"a": {"0": 7}}


def test_a_batch_goes_on_where_the_last_one_ended_and_reads_new_partitions_from_their_start() -> None:
    new = replace(LOG, place=B)
    begin, end = Position({A: 7}, {"a": "old"}), Position({A: 9, B: 5}, {"a": "old"})
    assert ranges(begin, end, LOG, new) == [(A, 7, 9), (B, 2, 5)]
    later = replace(LOG, place=LakePartition("a", 2))
    assert ranges(begin, end, LOG, new, later) == [(A, 7, 9), (B, 2, 5)]  # it is read by the next batch


@pytest.mark.parametrize("until", [5, 9])
def test_a_topic_made_anew_is_told_however_many_records_it_has(until: int) -> None:
    begin, end = Position({A: 7}, {"a": "old"}), Position({A: until}, {"a": "new"})
    log = replace(LOG, topic_id="new")
    with pytest.raises(
        DataLost, match=r"^a-0: .* before 7 of the topic with the id old, and the topic's id is new now: "
    ):
        ranges(begin, end, log)
    assert ranges(begin, end, log, fail=False) == [(A, 2, until)]  # from the beginning of the new one


def test_a_topic_made_anew_after_a_batch_was_planned_is_told_and_never_read_for_the_old_one() -> None:
    begin, end = Position({A: 7}, {"a": "old"}), Position({A: 9}, {"a": "old"})
    log = replace(LOG, topic_id="new")
    with pytest.raises(DataLost, match=r"the topic's id is new now: it was deleted and made anew"):
        ranges(begin, end, log)
    assert ranges(begin, end, log, fail=False) == []


def test_without_ids_a_log_that_ends_before_what_was_read_tells_of_a_new_topic() -> None:
    begin, end = Position({A: 7}, {}), Position({A: 5}, {"a": "new"})
    log = replace(LOG, topic_id="new")
    with pytest.raises(DataLost, match=r"^a-0 was read up to offset 7 and ends at 5 now: was the topic made anew\?"):
        ranges(begin, end, log)
    assert ranges(begin, end, log, fail=False) == [(A, 2, 5)]
    assert ranges(begin, Position({A: 9}, {"a": "new"}), log) == [(A, 7, 9)]


@pytest.mark.parametrize("end", [Position({}, {}), Position({A: 9}, {"a": "old"})])
def test_a_partition_that_is_gone_is_told(end: Position) -> None:
    """Before a batch was planned, and after."""
    with pytest.raises(DataLost, match=r"^a-0 is no longer in the log directories: was the topic deleted"):
        ranges(Position({A: 7}, {"a": "old"}), end)
    assert ranges(Position({A: 7}, {"a": "old"}), end, fail=False) == []
