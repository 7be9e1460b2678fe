"""``GroupKind``: what the coordinator does with all kinds of groups, and what each kind answers to it.

A kind of groups is a folder, with a subclass in its ``kind.py``, and one row in ``kinds.py``. Requests of its own protocol
(``ConsumerGroupHeartbeat``) are functions of that folder, which their handlers give to ``GroupCoordinator.ask``; here are
those that several kinds answer. The base class answers as Kafka does for a kind that does not have what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from pykbroker.coordination.groups.classic.answers import not_assigned
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.leave_group import LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.joining import Joining
    from pykbroker.coordination.groups.group import Find
    from pykbroker.coordination.groups.replayed import ReplayedGroups
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.shards import Loaded
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.describe_groups import DescribedGroup
    from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
    from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

G = TypeVar("G", bound=Group)


class EffectContext(Protocol):
    """What an effect has of the coordinator."""

    host: CoordinationHost

    def go_on(self, loaded: Loaded[Any], group_id: str, step: Callable[[Group | None], Outcome], /) -> None:
        """Take a further step on a group, None if it has ended, unless its shard has moved."""
        ...


class Effect(Protocol):
    """Carries out effects of one class."""

    def __call__(self, loaded: Loaded[Any], effect: Any, /) -> None: ...


class GroupKind(Generic[G]):
    """See the module. Functions with a ``reply`` answer through the Outcome; each kind's name the codes that they raise."""

    #: The class of the groups.
    group_class: ClassVar[type[Group]]
    #: The classes of the keys of its records in ``__consumer_offsets``.
    record_keys: ClassVar[tuple[type, ...]] = ()
    #: The class of each effect of its Outcomes, and what creates for a coordinator the function that carries it out.
    effects: ClassVar[Mapping[type, Callable[[EffectContext], Effect]]] = {}

    def replay(self, groups: ReplayedGroups, key: Any, value: Any, /) -> None:
        """Apply a record with one of ``record_keys``; a value of None is a tombstone. Nothing else changes persisted state."""
        raise NotImplementedError

    def begin(self, group: G, /) -> Outcome:
        """The group was loaded from the log."""
        return group.loaded()

    def tick(self, group: G, find: Find, /) -> Outcome:
        """Do what is due."""
        return Outcome()

    def topics_changed(self, group: G, names: frozenset[str], /) -> None:
        """Topics were created or deleted, or have more partitions."""

    def end(self, group: G, /) -> list[CoordinatorRecord]:
        """The records that end an empty group."""
        raise NotImplementedError

    def describe(self, group: G, group_id: str, /) -> DescribedGroup:
        """DescribeGroups, which shows classic groups. Raises KafkaError GROUP_ID_NOT_FOUND for others."""
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")

    # The classic protocol

    def gives_way(self, group: G, /) -> bool:
        """Whether a new member of the classic protocol replaces the group."""
        return False

    def join(self, group: G, joining: Joining, find: Find, /) -> Outcome:
        """JoinGroup."""
        return joining.refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, Outcome())

    def sync(self, group: G, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse], /) -> Outcome:
        """SyncGroup."""
        return Outcome(replies=[(reply, not_assigned(ErrorCode.UNKNOWN_MEMBER_ID))])

    def heartbeat(self, group: G, request: HeartbeatRequest, /) -> HeartbeatResponse:
        """Heartbeat."""
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def leave(
        self, group: G, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find, /
    ) -> Outcome:
        """LeaveGroup in its batched form."""
        answers = [
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=ErrorCode.UNKNOWN_MEMBER_ID,
            )
            for identity in request.members
        ]
        return Outcome(replies=[(reply, LeaveGroupResponse(members=answers))])

    # Committed offsets

    def check_commit(self, group: G, request: OffsetCommitRequest, version: int, /) -> None:
        """Check that this commit is allowed. Raises KafkaError GROUP_ID_NOT_FOUND where the kind has no offsets."""
        raise self._without_offsets(group)

    def check_commit_in_transaction(self, group: G, request: TxnOffsetCommitRequest, /) -> None:
        """Check that this commit in a transaction is allowed. Raises KafkaError GROUP_ID_NOT_FOUND where the kind has no offsets."""
        raise self._without_offsets(group)

    def check_fetch(self, group: G, request: OffsetFetchRequestGroup, /) -> None:
        """Check that the requesting member may fetch offsets. Where the kind has none anybody may, and finds none."""

    def check_delete_offsets(self, group: G, /) -> None:
        """Check that offsets may be deleted at all. Raises KafkaError GROUP_ID_NOT_FOUND where the kind has no offsets."""
        raise self._without_offsets(group)

    def _without_offsets(self, group: G) -> KafkaError:
        return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
