"""Validates a StreamsGroupHeartbeat; error codes and messages are Kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain, compress, filterfalse, repeat
from operator import attrgetter, ge, lt, or_

from pykbroker.coordination.groups.member_group import LEAVING_FOR_NOW, check_not_blank, invalid
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.tasks import Tasks, tasks_of
from pykbroker.coordination.groups.streams.topology import invalid_topology
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds, Topology

#: Of the partitions of a subtopology; of none, what is no fault where the subtopology exists.
_HIGHEST, _LOWEST = partial(max, default=0), partial(min, default=0)


def check_request(request: StreamsGroupHeartbeatRequest) -> None:
    """Raises KafkaError INVALID_REQUEST or STREAMS_INVALID_TOPOLOGY."""
    if request.topology is not None and any(map(attrgetter("source_topic_regex"), request.topology.subtopologies)):
        raise invalid("Regular expressions for source topics are not supported yet.")
    check_not_blank(request.member_id, "MemberId")
    check_not_blank(request.group_id, "GroupId")
    check_not_blank(request.instance_id, "InstanceId")
    check_not_blank(request.rack_id, "RackId")
    if request.member_epoch == 0:
        _check_join(request)
    elif request.member_epoch == LEAVING_FOR_NOW:
        if request.instance_id is None:
            raise invalid("InstanceId can't be null.")
    elif request.member_epoch < LEAVING_FOR_NOW:
        raise invalid(f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    roles = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if any(each is None for each in roles) and not all(each is None for each in roles):
        raise invalid("If one task-type is non-null, all must be non-null.")
    if request.member_epoch != 0 and request.topology is not None:
        raise invalid("Topology can only be provided when (re-)joining.")


def _check_join(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise invalid("RebalanceTimeoutMs must be provided in first request.")
    for role, tasks in (
        ("Active", request.active_tasks),
        ("Standby", request.standby_tasks),
        ("Warmup", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            raise invalid(f"{role}Tasks must be empty when (re-)joining.")
    if request.topology is None:
        raise invalid("Topology must be non-null when (re-)joining.")
    _check_changelogs(request.topology)


def _check_changelogs(topology: Topology) -> None:
    changelogs = chain.from_iterable(map(attrgetter("state_changelog_topics"), topology.subtopologies))
    for topic in filter(attrgetter("partitions"), changelogs):
        raise invalid_topology(
            f"Changelog topic {topic.name} must have an undefined partition count, but it is set to {topic.partitions}."
        )


def check_epoch(group: StreamsGroup, member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH unless the epoch is the member's; 0, to rejoin, is always valid.

    The previous epoch is valid too if the member reports no more than it has: the answer with the new one was lost.
    """
    epoch = request.member_epoch
    if epoch in (0, member.epoch):
        return
    if epoch < member.epoch and epoch == member.previous_epoch and _owns_all(member, request):
        return
    raise group.fenced(member, epoch)


def _owns_all(member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> bool:
    owned: tuple[Tasks, Tasks, Tasks] = (
        frozenset(member.assigned.active),
        member.assigned.standby,
        member.assigned.warmup,
    )
    reported = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    return all(named is not None and tasks_of(named) <= own for named, own in zip(reported, owned, strict=True))


def check_released(member: StreamsMember, member_id: str, instance_id: str) -> None:
    """Raises KafkaError UNRELEASED_INSTANCE_ID unless the member with this ``group.instance.id`` has left for now."""
    if member.epoch != LEAVING_FOR_NOW:
        message = (
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is "
            f"owned by {member.member_id} member."
        )
        raise KafkaError(ErrorCode.UNRELEASED_INSTANCE_ID, message)


def check_tasks(tasks: Mapping[str, int], named: list[TaskIds] | None) -> None:
    """Raises KafkaError INVALID_REQUEST for tasks that the application, with so many by subtopology, does not have."""
    named = named or []
    partitions = [*map(attrgetter("partitions"), named)]
    known = map(tasks.get, map(attrgetter("subtopology_id"), named), repeat(0))  # no subtopology has no task
    too_high = map(ge, map(_HIGHEST, partitions), known)
    first = next(compress(named, map(or_, too_high, map(lt, map(_LOWEST, partitions), repeat(0)))), None)
    if first is None:
        return
    count = tasks.get(first.subtopology_id)
    if count is None:
        raise invalid(f"Subtopology {first.subtopology_id} does not exist in the topology.")
    wrong = next(filterfalse(range(count).__contains__, first.partitions))
    raise invalid(
        f"Task {wrong} for subtopology {first.subtopology_id} is invalid. Number of tasks for this subtopology: {count}"
    )
