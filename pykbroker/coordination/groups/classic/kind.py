"""Groups of the classic protocol: the ``Kind`` that the shard asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic import joining as classic_joining
from pykbroker.coordination.groups.classic import leaving
from pykbroker.coordination.groups.classic.committing import check_commit, check_commit_in_transaction
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.groups.classic.syncing import sync
from pykbroker.coordination.groups.records import group_tombstone
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.group import Find
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup

__all__ = [
    "begin",
    "check_commit",
    "check_commit_in_transaction",
    "check_fetch",
    "end",
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


def join(group: ClassicGroup, joining: Joining, find: Find) -> Outcome:
    """See ``Kind``."""
    return classic_joining.join(group, joining)


def heartbeat(group: ClassicGroup, request: HeartbeatRequest) -> HeartbeatResponse:
    """Raises KafkaError with UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION."""
    member = group.members.validate(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    group.touch(member)
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    return HeartbeatResponse()


def leave(group: ClassicGroup, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find) -> Outcome:
    """See ``Kind``."""
    return leaving.leave(group, request, reply)


def tick(group: ClassicGroup, find: Find) -> Outcome:
    """See ``Kind``."""
    return group.tick()


def check_fetch(group: ClassicGroup, request: OffsetFetchRequestGroup) -> None:
    """Anyone may fetch."""


def topics_changed(group: ClassicGroup, names: frozenset[str]) -> None:
    """The members look after that themselves."""


def end(group: ClassicGroup) -> list[CoordinatorRecord]:
    """See ``Kind``."""
    return [group_tombstone(group.group_id)]
