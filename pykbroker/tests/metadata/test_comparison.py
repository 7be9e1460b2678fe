from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.metadata.comparison import compared
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import BROKER_RESOURCE, MetadataImage
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.topic_record import TopicRecord

FIRST, SECOND, ACL = bytes([1] * 16), bytes([2] * 16), bytes([3] * 16)


def image(records: Sequence[MetadataRecord]) -> MetadataImage:
    filled = MetadataImage("c")
    for record in records:
        replay(filled, record, MetadataDelta())
    return filled


def partition(topic: bytes, index: int = 0) -> PartitionRecord:
    return PartitionRecord(topic_id=topic, partition_id=index, replicas=[1, 2], isr=[1, 2], leader=1)


TOPIC = [TopicRecord(name="t", topic_id=FIRST), partition(FIRST), partition(FIRST, 1)]


def test_nothing_differs() -> None:
    delta = compared(image(TOPIC), image(TOPIC))
    assert not any(getattr(delta, name) for name in MetadataDelta.__slots__)


def test_a_topic_that_was_made_again_under_its_name() -> None:
    after = [TopicRecord(name="t", topic_id=SECOND), partition(SECOND)]
    delta = compared(image(TOPIC), image(after))
    assert [each.id for each in delta.deleted_topics] == [FIRST]
    assert [each.id for each in delta.created_topics] == [SECOND]
    assert [(each.topic.id, each.before) for each in delta.partitions] == [(SECOND, None)]


def test_a_partition_that_has_another_leader() -> None:
    moved = [*TOPIC, PartitionChangeRecord(topic_id=FIRST, partition_id=1, leader=2)]
    delta = compared(image(TOPIC), image(moved))
    assert not delta.created_topics
    (change,) = delta.partitions
    assert (change.before.leader, change.after.leader) == (1, 2)  # type: ignore[union-attr]


def test_access_lists_that_came_and_went() -> None:
    acl = AccessControlEntryRecord(id=ACL, resource_name="t", principal="User:a", host="*")
    before, after = image([]), image([acl])
    assert [was_added for _, was_added in compared(before, after).acls] == [True]
    assert [was_added for _, was_added in compared(after, before).acls] == [False]


KINDS = st.one_of(
    st.builds(
        lambda at, level: FeatureLevelRecord(name=f"f{at}", feature_level=level), st.integers(0, 2), st.integers(1, 3)
    ),
    st.builds(
        lambda at, value: ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=str(at), name="n", value=value),
        st.integers(0, 2),
        st.sampled_from(["a", "b", None]),
    ),
)


@given(st.lists(KINDS, max_size=8), st.lists(KINDS, max_size=8))
def test_what_differs_is_named_and_nothing_else(first: list[MetadataRecord], second: list[MetadataRecord]) -> None:
    before, after = image(first), image(second)
    delta = compared(before, after)
    for name in ("f0", "f1", "f2"):
        assert (name in delta.features) == (before.features.get(name) != after.features.get(name))
    for resource in ("0", "1", "2"):
        is_changed = before.config(BROKER_RESOURCE, resource) != after.config(BROKER_RESOURCE, resource)
        assert ((BROKER_RESOURCE, resource) in delta.configs) == is_changed
