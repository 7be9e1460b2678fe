"""Records of share groups in ``__consumer_offsets``: Kafka's own layouts (types 10 to 15), all in version 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pykbroker.coordination.groups.share.group import Partitions, ShareGroup, ShareMember, TopicState
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.internal.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from pykbroker.wire.internal.share_group_member_metadata import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
)
from pykbroker.wire.internal.share_group_metadata import ShareGroupMetadataKey, ShareGroupMetadataValue
from pykbroker.wire.internal.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from pykbroker.wire.internal.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from pykbroker.wire.internal.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

_VERSION = 0


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group epoch, and the hash of the topics' metadata that it was raised for."""
    return CoordinatorRecord(
        ShareGroupMetadataKey(group_id=group_id), ShareGroupMetadataValue(epoch, metadata_hash), _VERSION
    )


def member_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    """A member's identity and subscription."""
    value = ShareGroupMemberMetadataValue(
        member.rack_id, member.client_id, member.client_host, sorted(member.subscribed)
    )
    return CoordinatorRecord(ShareGroupMemberMetadataKey(group_id, member.member_id), value, _VERSION)


def assignment_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    """A member's current assignment and epochs; its state is always stable."""
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=0,
        assigned_partitions=[TopicPartitions(topic_id, sorted(some)) for topic_id, some in member.assigned.items()],
    )
    return CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id, member.member_id), value, _VERSION)


def target_record(group_id: str, member_id: str, target: Partitions) -> CoordinatorRecord:
    """A member's target assignment."""
    value = ShareGroupTargetAssignmentMemberValue(
        [TopicPartition(topic_id, sorted(some)) for topic_id, some in target.items()]
    )
    return CoordinatorRecord(ShareGroupTargetAssignmentMemberKey(group_id, member_id), value, _VERSION)


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """The group epoch of the target assignment, and when it was computed (KIP-1263)."""
    value = ShareGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def state_record(
    group_id: str,
    initializing: Mapping[bytes, TopicState],
    initialized: Mapping[bytes, TopicState],
    deleting: Mapping[bytes, str],
) -> CoordinatorRecord:
    """The partitions whose state the share coordinator has, will have, and will have no longer."""
    value = ShareGroupStatePartitionMetadataValue(
        _infos(initializing), _infos(initialized), [TopicInfo(*each) for each in deleting.items()]
    )
    return CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), value, _VERSION)


def _infos(topics: Mapping[bytes, TopicState]) -> list[TopicPartitionsInfo]:
    return [TopicPartitionsInfo(topic_id, each.name, sorted(each.partitions)) for topic_id, each in topics.items()]


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The tombstones of a member, in the order that Kafka's replay needs."""
    return [
        CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id, member_id), None, _VERSION),
        CoordinatorRecord(ShareGroupTargetAssignmentMemberKey(group_id, member_id), None, _VERSION),
        CoordinatorRecord(ShareGroupMemberMetadataKey(group_id, member_id), None, _VERSION),
    ]


def group_tombstones(group: ShareGroup) -> Iterator[CoordinatorRecord]:
    """The tombstones of a group with its members."""
    group_id = group.group_id
    ended = [member_tombstones(group_id, member_id) for member_id in group.members]
    for kind in range(2):
        yield from (tombstones[kind] for tombstones in ended)
    yield CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None, _VERSION)
    yield from (tombstones[2] for tombstones in ended)
    if group.initialized or group.initializing or group.deleting:
        yield CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), None, _VERSION)
    yield CoordinatorRecord(ShareGroupMetadataKey(group_id=group_id), None, _VERSION)


def partitions_of(topics: Iterable[TopicPartitions | TopicPartition]) -> Partitions:
    """An assignment in a record."""
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics}
