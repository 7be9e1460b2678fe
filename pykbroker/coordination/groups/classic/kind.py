"""Groups of the classic protocol: the ``Kind`` that the shard asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic import joining as classic_joining
from pykbroker.coordination.groups.classic import leaving
from pykbroker.coordination.groups.classic.committing import check_commit, check_commit_in_transaction
from pykbroker.coordination.groups.classic.describing import described
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.groups.classic.syncing import sync
from pykbroker.coordination.groups.consumer.migration import upgrade_for
from pykbroker.coordination.groups.records import group_tombstone
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
    from pykbroker.coordination.groups.group import Find
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
    from pykbroker.wire.messages.describe_groups import DescribedGroup
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup

__all__ = [
    "begin",
    "check_commit",
    "check_commit_in_transaction",
    "check_fetch",
    "consumer_heartbeat",
    "describe",
    "describe_consumer",
    "end",
    "gives_way",
    "heartbeat",
    "join",
    "leave",
    "sync",
    "tick",
    "topics_changed",
]


def begin(group: ClassicGroup) -> Outcome:
    """See ``Kind``."""
    return group.loaded()


def gives_way(group: ClassicGroup) -> bool:
    """A new member joins this group."""
    return False


def join(group: ClassicGroup, joining: Joining, find: Find) -> Outcome:
    """See ``Kind``."""
    return classic_joining.join(group, joining)


def heartbeat(group: ClassicGroup, request: HeartbeatRequest) -> HeartbeatResponse:
    """Raises KafkaError with UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION."""
    member = group.members.validate(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    group.deadlines.touch(member)
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    return HeartbeatResponse()


def leave(group: ClassicGroup, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find) -> Outcome:
    """See ``Kind``."""
    return leaving.leave(group, request, reply)


def consumer_heartbeat(group: ClassicGroup, heartbeat: Heartbeat) -> Outcome:
    """A member of the consumer protocol joins: an empty group is replaced by a consumer group, one with members is upgraded.
    Raises KafkaError GROUP_ID_NOT_FOUND for a member that claims to have joined, and what ``upgrade_for`` raises.
    """
    if heartbeat.request.member_epoch != 0:
        raise _not_consumer(group)
    return heartbeat.beat_in_new(end(group)) if group.is_empty else upgrade_for(heartbeat, group)


def tick(group: ClassicGroup, find: Find) -> Outcome:
    """See ``Kind``."""
    return group.tick()


def check_fetch(group: ClassicGroup, request: OffsetFetchRequestGroup) -> None:
    """Every client may fetch."""


def topics_changed(group: ClassicGroup, names: frozenset[str]) -> None:
    """Nothing to do: the members watch their topics themselves."""


def end(group: ClassicGroup) -> list[CoordinatorRecord]:
    """See ``Kind``."""
    return [group_tombstone(group.group_id)]


def describe(group: ClassicGroup, group_id: str) -> DescribedGroup:
    """See ``Kind``."""
    return described(group)


def describe_consumer(group: ClassicGroup, group_id: str) -> DescribedConsumerGroup:
    """Raises KafkaError with GROUP_ID_NOT_FOUND."""
    raise _not_consumer(group)


def _not_consumer(group: ClassicGroup) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
