"""Records of streams groups in ``__consumer_offsets``: Kafka's own layouts (types 17 to 23), all in version 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.tasks import Task, Tasks, TaskTuple, by_subtopology, subtopologies_of
from pykbroker.coordination.groups.streams.topology import MANY_NAMES, LargeValue, Topology
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.internal.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    TaskIds,
)
from pykbroker.wire.internal.streams_group_member_metadata import (
    Endpoint,
    KeyValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
)
from pykbroker.wire.internal.streams_group_metadata import (
    LastAssignmentConfig,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from pykbroker.wire.internal.streams_group_target_assignment_member import (
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
)
from pykbroker.wire.internal.streams_group_target_assignment_member import TaskIds as TargetTaskIds
from pykbroker.wire.internal.streams_group_target_assignment_metadata import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from pykbroker.wire.internal.streams_group_topology import StreamsGroupTopologyKey

if TYPE_CHECKING:
    from pykbroker.coordination.groups.streams.group import GroupFacts, StreamsGroup

_VERSION = 0


def epoch_record(group_id: str, facts: GroupFacts) -> CoordinatorRecord:
    """The group epoch, and what it was raised for."""
    value = StreamsGroupMetadataValue(
        epoch=facts.epoch,
        metadata_hash=facts.metadata_hash,
        validated_topology_epoch=facts.validated_epoch,
        last_assignment_configs=[LastAssignmentConfig(*each) for each in sorted(facts.assignment_configs.items())],
        stored_description_topology_epoch=facts.stored_description_epoch,
        failed_description_topology_epoch=facts.failed_description_epoch,
    )
    return CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), value, _VERSION)


def member_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """A member's identity, process and topology epoch."""
    value = StreamsGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if member.user_endpoint is None else Endpoint(*member.user_endpoint),
        client_tags=[KeyValue(*each) for each in sorted(member.client_tags.items())],
    )
    return CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id, member.member_id), value, _VERSION)


def assignment_record(group_id: str, member: StreamsMember, encoded: EncodedTasks | None = None) -> CoordinatorRecord:
    """A member's current assignment, epochs and state."""
    value = encoded or _assignment_value(member)
    return CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id, member.member_id), value, _VERSION)


def _assignment_value(member: StreamsMember) -> StreamsGroupCurrentMemberAssignmentValue:
    assigned, revoking = member.assigned, member.revoking
    return StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state.value,
        active_tasks=_with_epochs(assigned.active),
        standby_tasks=_without_epochs(assigned.standby),
        warmup_tasks=_without_epochs(assigned.warmup),
        active_tasks_pending_revocation=_with_epochs(revoking.active),
        standby_tasks_pending_revocation=_without_epochs(revoking.standby),
        warmup_tasks_pending_revocation=_without_epochs(revoking.warmup),
    )


def _with_epochs(tasks: Mapping[Task, int]) -> list[TaskIds]:
    return [
        TaskIds(subtopology, partitions, [tasks[subtopology, each] for each in partitions])
        for subtopology, partitions in by_subtopology(tasks)
    ]


def _without_epochs(tasks: Tasks) -> list[TaskIds]:
    return [TaskIds(subtopology, partitions) for subtopology, partitions in by_subtopology(tasks)]


def target_record(
    group_id: str, member_id: str, target: TaskTuple, encoded: EncodedTasks | None = None
) -> CoordinatorRecord:
    """A member's target assignment."""
    value = encoded or _target_value(target)
    return CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), value, _VERSION)


def _target_value(target: TaskTuple) -> StreamsGroupTargetAssignmentMemberValue:
    active, standby, warmup = ([TargetTaskIds(*each) for each in by_subtopology(tasks)] for tasks in target)
    return StreamsGroupTargetAssignmentMemberValue(active, standby, warmup)


class EncodedTasks:
    """The value of the record of a member's assignment, or of its target, which a thread has encoded; as such it is replayed without being
    made anew: tasks of thousands of subtopologies are a hundred lines for each.
    """

    __slots__ = ("_encoded", "of")

    def __init__(self, of: StreamsMember | TaskTuple) -> None:
        self.of: Any = of
        value = _target_value(of) if isinstance(of, TaskTuple) else _assignment_value(of)
        out = bytearray()
        value.encode(out, _VERSION)
        self._encoded = bytes(out)

    def encode(self, out: bytearray, version: int) -> None:
        """As of a message."""
        out += self._encoded


def has_many_tasks(of: StreamsMember | TaskTuple) -> bool:
    """Whether its value is encoded in a thread."""
    roles = of if isinstance(of, TaskTuple) else (*of.assigned, *of.revoking)
    return subtopologies_of(chain.from_iterable(roles)) > MANY_NAMES


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """The group epoch of the target assignment, and when it was computed (KIP-1263)."""
    value = StreamsGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value, _VERSION)


def topology_record(group_id: str, topology: Topology) -> CoordinatorRecord:
    """The topology of the application."""
    value = topology.value if topology.encoded is None else LargeValue(topology)
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), value, _VERSION)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The tombstones of a member, in the order that Kafka's replay needs."""
    return [
        CoordinatorRecord(StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), None, _VERSION),
        CoordinatorRecord(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), None, _VERSION),
        CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id, member_id), None, _VERSION),
    ]


def group_tombstones(group: StreamsGroup) -> Iterator[CoordinatorRecord]:
    """The tombstones of a group with its members."""
    group_id = group.group_id
    ended = [member_tombstones(group_id, member_id) for member_id in group.members]
    for kind in range(2):
        yield from (tombstones[kind] for tombstones in ended)
    yield CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None, _VERSION)
    yield from (tombstones[2] for tombstones in ended)
    yield CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id), None, _VERSION)
    yield CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), None, _VERSION)
