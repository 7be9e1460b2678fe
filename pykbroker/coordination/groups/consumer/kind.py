"""Groups of the consumer protocol: what the coordinator asks of them. Their classic members are in ``classic_members``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pykbroker.coordination.groups.assigning import Assigning, TargetComputing
from pykbroker.coordination.groups.consumer import classic_members, member_epochs, replaying
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.leaving import tick
from pykbroker.coordination.groups.consumer.records import group_tombstones
from pykbroker.coordination.groups.consumer.regexes import Resolution
from pykbroker.coordination.groups.consumer.resolving import RegexResolving
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.group import Find
    from pykbroker.coordination.groups.replayed import ReplayedGroups
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
    from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest


class ConsumerKind(GroupKind[ConsumerGroup]):
    """See ``GroupKind``."""

    group_class = ConsumerGroup
    record_keys = replaying.KEYS
    effects: ClassVar = {Resolution: RegexResolving, Assigning: TargetComputing}

    def replay(self, groups: ReplayedGroups, key: Any, value: Any, /) -> None:
        """A record of a group, which ends a group of another kind with the id, or the end of a group."""
        group = groups.of_record(key, value, ConsumerGroup, ends=replaying.ends_group(key, value))
        if group is not None:
            replaying.replay(group, key, value)

    def tick(self, group: ConsumerGroup, find: Find, /) -> Outcome:
        """Do what is due."""
        return tick(group, find)

    def topics_changed(self, group: ConsumerGroup, names: frozenset[str], /) -> None:
        """The next heartbeat compares the metadata hash."""
        if group.subscribes_to_any(names):
            group.metadata_is_stale = True

    def end(self, group: ConsumerGroup, /) -> list[CoordinatorRecord]:
        """All tombstones."""
        return list(group_tombstones(group))

    def gives_way(self, group: ConsumerGroup, /) -> bool:
        """Yes, if it has no members."""
        return group.is_empty

    def join(self, group: ConsumerGroup, joining: Joining, find: Find, /) -> Outcome:
        """Raises what ``classic_members.join`` raises."""
        return classic_members.join(group, joining, find)

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse], /) -> Outcome:
        """Raises what ``classic_members.sync`` raises."""
        return classic_members.sync(group, request, reply)

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest, /) -> HeartbeatResponse:
        """Raises what ``classic_members.heartbeat`` raises."""
        return classic_members.heartbeat(group, request)

    def leave(
        self, group: ConsumerGroup, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find, /
    ) -> Outcome:
        """LeaveGroup."""
        return classic_members.leave(group, request, reply, find)

    def check_commit(self, group: ConsumerGroup, request: OffsetCommitRequest, version: int, /) -> None:
        """Raises what ``member_epochs.check_commit`` raises."""
        member_epochs.check_commit(group, request, version)

    def check_commit_in_transaction(self, group: ConsumerGroup, request: TxnOffsetCommitRequest, /) -> None:
        """Raises what ``member_epochs.check_commit_in_transaction`` raises."""
        member_epochs.check_commit_in_transaction(group, request)

    def check_fetch(self, group: ConsumerGroup, request: OffsetFetchRequestGroup, /) -> None:
        """Raises what ``member_epochs.check_fetch`` raises."""
        member_epochs.check_fetch(group, request)

    def check_delete_offsets(self, group: ConsumerGroup, /) -> None:
        """Nothing to check: its subscriptions are known."""
