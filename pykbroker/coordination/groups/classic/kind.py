"""Groups of the classic protocol: what the coordinator asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.classic import joining as classic_joining
from pykbroker.coordination.groups.classic import leaving
from pykbroker.coordination.groups.classic.committing import check_commit, check_commit_in_transaction
from pykbroker.coordination.groups.classic.describing import described
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.groups.classic.syncing import sync
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer_protocol import PROTOCOL_TYPE
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.groups.records import group_tombstone
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.group_metadata import GroupMetadataKey
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.group import Find
    from pykbroker.coordination.groups.replayed import ReplayedGroups
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.describe_groups import DescribedGroup
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
    from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest


class ClassicKind(GroupKind[ClassicGroup]):
    """See ``GroupKind``."""

    group_class = ClassicGroup
    record_keys = (GroupMetadataKey,)

    def replay(self, groups: ReplayedGroups, key: Any, value: Any, /) -> None:
        """A record of a group at rest, which ends a group of another kind with the id, or the end of a group."""
        if value is None:
            groups.end(key.group, Group)
            return
        group = groups.get(key.group, ClassicGroup) or groups.begin_classic(key.group)
        group.restore(value)
        group.owes_rebalance = groups.ended_before == (key.group, ConsumerGroup)  # it is downgraded

    def tick(self, group: ClassicGroup, find: Find, /) -> Outcome:
        """Do what is due."""
        return group.tick()

    def end(self, group: ClassicGroup, /) -> list[CoordinatorRecord]:
        """The tombstone."""
        return [group_tombstone(group.group_id)]

    def describe(self, group: ClassicGroup, group_id: str, /) -> DescribedGroup:
        """DescribeGroups."""
        return described(group)

    def join(self, group: ClassicGroup, joining: Joining, find: Find, /) -> Outcome:
        """JoinGroup."""
        return classic_joining.join(group, joining)

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse], /) -> Outcome:
        """SyncGroup."""
        return sync(group, request, reply)

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest, /) -> HeartbeatResponse:
        """Raises KafkaError with UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION."""
        member = group.members.validate(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        group.deadlines.touch(member)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        return HeartbeatResponse()

    def leave(
        self, group: ClassicGroup, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find, /
    ) -> Outcome:
        """LeaveGroup."""
        return leaving.leave(group, request, reply)

    def check_commit(self, group: ClassicGroup, request: OffsetCommitRequest, version: int, /) -> None:
        """Raises what ``committing.check_commit`` raises."""
        check_commit(group, request, version)

    def check_commit_in_transaction(self, group: ClassicGroup, request: TxnOffsetCommitRequest, /) -> None:
        """Raises what ``committing.check_commit_in_transaction`` raises."""
        check_commit_in_transaction(group, request)

    def check_fetch(self, group: ClassicGroup, request: OffsetFetchRequestGroup, /) -> None:
        """Every client may fetch."""

    def check_delete_offsets(self, group: ClassicGroup, /) -> None:
        """Raises KafkaError NON_EMPTY_GROUP if its members are no consumers, since their subscriptions are unknown."""
        if not group.is_empty and group.protocol_type != PROTOCOL_TYPE:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
