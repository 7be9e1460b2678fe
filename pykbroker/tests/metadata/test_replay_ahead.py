"""What is worked out ahead is what a replay of the same records gives, and nothing of it is seen before."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.replay import MetadataRecord, ReplayError, replay
from pykbroker.metadata.replay_ahead import Ahead, work_out
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.remove_topic_record import RemoveTopicRecord
from pykbroker.wire.internal.topic_record import TopicRecord


def made(topic: int, index: int, leader: int = 1) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index, topic_id=bytes([topic]) * 16, replicas=[1, 2], isr=[1, 2], leader=leader, leader_epoch=0
    )


def named(topic: int) -> TopicRecord:
    return TopicRecord(name=f"t{topic}", topic_id=bytes([topic]) * 16)


def moved(topic: int, index: int, leader: int) -> PartitionChangeRecord:
    return PartitionChangeRecord(topic_id=bytes([topic]) * 16, partition_id=index, leader=leader, isr=[leader])


def image_of(records: list[MetadataRecord]) -> MetadataImage:
    image = MetadataImage()
    for record in records:
        replay(image, record, MetadataDelta())
    return image


THERE = [named(1), made(1, 0), made(1, 1)]
MORE = st.lists(
    st.one_of(
        st.builds(moved, st.just(1), st.integers(0, 1), st.integers(1, 3)),
        st.builds(made, st.just(1), st.integers(0, 4)),
        st.builds(made, st.just(2), st.integers(0, 2)),
        st.just(ConfigRecord(resource_type=2, resource_name="t1", name="retention.ms", value="1")),
    )
)


def outcome(image: MetadataImage, records: list[MetadataRecord]) -> Ahead | None:
    steps = work_out(image, records)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            found: Ahead | None = ended.value
            return found


@given(MORE)
def test_it_is_what_a_replay_gives(more: list[MetadataRecord]) -> None:
    records = [named(2), *more]
    image, before = image_of(THERE), image_of(THERE)
    delta, expected = MetadataDelta(), MetadataDelta()
    ahead = outcome(image, records)
    assert ahead is not None
    assert vars(image) == vars(before)
    ahead.apply(image, delta)
    for record in records:
        replay(before, record, expected)
    assert vars(image) == vars(before)
    assert delta == expected


def test_records_that_remove_are_replayed_whole() -> None:
    assert outcome(image_of(THERE), [moved(1, 0, 2), RemoveTopicRecord(topic_id=b"\1" * 16)]) is None


@pytest.mark.parametrize("record", [moved(1, 7, 2), moved(9, 0, 2), made(9, 0)])
def test_a_contradiction_changes_nothing(record: MetadataRecord) -> None:
    image = image_of(THERE)
    before = copy.deepcopy(image)
    with pytest.raises(ReplayError):
        outcome(image, [moved(1, 0, 2), record])
    assert vars(image) == vars(before)
