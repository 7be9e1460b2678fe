"""Records of consumer groups in ``__consumer_offsets``: Kafka's own layouts (types 3 to 8 and 16), all in version 0."""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.coordination.groups.consumer.group import ConsumerGroup, ResolvedRegex
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Owned, Target
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.internal.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from pykbroker.wire.internal.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from pykbroker.wire.internal.consumer_group_metadata import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from pykbroker.wire.internal.consumer_group_partition_metadata import ConsumerGroupPartitionMetadataKey
from pykbroker.wire.internal.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from pykbroker.wire.internal.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from pykbroker.wire.internal.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

_VERSION = 0


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group epoch, and the hash of the topics' metadata that it was raised for."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value, _VERSION)


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """A member's identity and subscription."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_names),
        subscribed_topic_regex=member.subscribed_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=member.classic,
    )
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value, _VERSION
    )


def assignment_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    """A member's current assignment, the partitions to revoke, and its epochs."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state.value,
        assigned_partitions=_with_epochs(member.assigned),
        partitions_pending_revocation=_with_epochs(member.revoking),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value, _VERSION)


def _with_epochs(owned: Owned) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id, sorted(partitions), [partitions[index] for index in sorted(partitions)])
        for topic_id, partitions in owned.items()
    ]


def target_record(group_id: str, member_id: str, target: Target) -> CoordinatorRecord:
    """A member's target assignment."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        [TopicPartition(topic_id, sorted(partitions)) for topic_id, partitions in target.items()]
    )
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value, _VERSION
    )


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """The group epoch of the target assignment, and when it was computed (KIP-1263)."""
    value = ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def regex_record(group_id: str, pattern: str, regex: ResolvedRegex) -> CoordinatorRecord:
    """The topics that match a pattern."""
    value = ConsumerGroupRegularExpressionValue(sorted(regex.topics), regex.version, regex.timestamp_ms)
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern), value, _VERSION
    )


def regex_tombstone(group_id: str, pattern: str) -> CoordinatorRecord:
    """The tombstone of a pattern."""
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)
    return CoordinatorRecord(key, None, _VERSION)


def old_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """The tombstone of Kafka 4.0's metadata of the topics, replaced by the hash in the epoch's record (KIP-1101)."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None, _VERSION)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The tombstones of a member, in the order that Kafka's replay needs."""
    return [
        CoordinatorRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None, _VERSION
        ),
        CoordinatorRecord(
            ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None, _VERSION
        ),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None, _VERSION),
    ]


def replacement(group: ConsumerGroup, former: ConsumerMember, new: ConsumerMember) -> list[CoordinatorRecord]:
    """The records by which a static member with a new id takes over the assignment and target of the old one."""
    return [
        *member_tombstones(group.group_id, former.member_id),
        member_record(group.group_id, new),
        target_record(group.group_id, new.member_id, group.targets.get(former.member_id, {})),
        assignment_record(group.group_id, new),
    ]


def group_tombstones(group: ConsumerGroup, member_ids: list[str] | None = None) -> Iterator[CoordinatorRecord]:
    """The tombstones of a group with its members (by default all current ones)."""
    group_id = group.group_id
    ids = list(group.members) if member_ids is None else member_ids
    ended = [member_tombstones(group_id, member_id) for member_id in ids]
    yield from (assignment for assignment, _, _ in ended)
    yield from (target for _, target, _ in ended)
    yield CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None, _VERSION)
    yield from (member for _, _, member in ended)
    yield from (regex_tombstone(group_id, pattern) for pattern in group.regexes)
    yield old_metadata_tombstone(group_id)
    yield CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None, _VERSION)
