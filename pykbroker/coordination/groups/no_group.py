"""The ``Kind`` of a group that does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.answers import not_assigned
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.leave_group import LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
    from pykbroker.coordination.groups.group import Find
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
    from pykbroker.wire.messages.describe_groups import DescribedGroup
    from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
    from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

_GROUP_NOT_FOUND_SINCE = 9  # OffsetCommit: earlier versions are answered ILLEGAL_GENERATION


def begin(group: None) -> Outcome:
    """The group ended before its slice came."""
    return Outcome()


def gives_way(group: None) -> bool:
    """Nothing prevents a new group."""
    return True


def join(group: None, joining: Joining, find: Find) -> Outcome:
    """A member with an id belonged to an earlier group; a new one creates a group (``GroupShard.join``)."""
    return joining.refused(ErrorCode.UNKNOWN_MEMBER_ID, Outcome())


def sync(group: None, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse]) -> Outcome:
    """Nobody is known."""
    return Outcome(replies=[(reply, not_assigned(ErrorCode.UNKNOWN_MEMBER_ID))])


def heartbeat(group: None, request: HeartbeatRequest) -> HeartbeatResponse:
    """Nobody is known."""
    raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


def leave(group: None, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find) -> Outcome:
    """Nobody is known."""
    answers = [
        MemberResponse(
            member_id=identity.member_id,
            group_instance_id=identity.group_instance_id,
            error_code=ErrorCode.UNKNOWN_MEMBER_ID,
        )
        for identity in request.members
    ]
    return Outcome(replies=[(reply, LeaveGroupResponse(members=answers))])


def consumer_heartbeat(group: None, heartbeat: Heartbeat) -> Outcome:
    """A new member creates the group. Raises KafkaError GROUP_ID_NOT_FOUND for any other, and what ``Heartbeat.beat``
    raises.
    """
    request = heartbeat.request
    if heartbeat.leaves:
        raise _not_found(request.group_id)
    if request.member_epoch != 0:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
    return heartbeat.beat_in_new([])


def tick(group: None, find: Find) -> Outcome:
    """Nothing is due."""
    return Outcome()


def check_commit(group: None, request: OffsetCommitRequest, version: int) -> None:
    """Anyone may who names no generation."""
    if request.generation_id_or_member_epoch >= 0:
        found = version >= _GROUP_NOT_FOUND_SINCE
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if found else ErrorCode.ILLEGAL_GENERATION)


def check_commit_in_transaction(group: None, request: TxnOffsetCommitRequest) -> None:
    """Anyone may who names no generation."""
    if request.generation_id_or_member_epoch >= 0:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def check_fetch(group: None, request: OffsetFetchRequestGroup) -> None:
    """It has no offsets, which is no error."""


def topics_changed(group: None, names: frozenset[str]) -> None:
    """Nothing to do."""


def end(group: None) -> list[CoordinatorRecord]:
    """There is nothing to end."""
    return []


def describe(group: None, group_id: str) -> DescribedGroup:
    """Raises KafkaError with GROUP_ID_NOT_FOUND."""
    raise _not_found(group_id)


def describe_consumer(group: None, group_id: str) -> DescribedConsumerGroup:
    """Raises KafkaError with GROUP_ID_NOT_FOUND."""
    raise _not_found(group_id)


def _not_found(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
