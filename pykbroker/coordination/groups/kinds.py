"""``Kind``, the interface of all kinds of groups towards the shard; one module per kind implements it.

Conversions between kinds are in ``consumer/migration.py``, and in ``replaying.py`` for records that replace a group of the
other kind.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, Protocol, TypeVar

from pykbroker.coordination.groups import no_group
from pykbroker.coordination.groups.classic import kind as classic
from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.classic.joining import Joining
from pykbroker.coordination.groups.consumer import kind as consumer
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
from pykbroker.coordination.groups.group import Find, Group
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from pykbroker.wire.messages.describe_groups import DescribedGroup
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

G_contra = TypeVar("G_contra", contravariant=True)


class Kind(Protocol[G_contra]):
    """Requests and deadlines of groups of one kind. Functions with a ``reply`` answer through the Outcome; each kind's
    function names the codes that it raises.
    """

    def begin(self, group: G_contra, /) -> Outcome:
        """The group was loaded from the log."""
        ...

    def gives_way(self, group: G_contra, /) -> bool:
        """Whether a new member of the classic protocol replaces the group."""
        ...

    def join(self, group: G_contra, joining: Joining, find: Find, /) -> Outcome:
        """JoinGroup."""
        ...

    def sync(self, group: G_contra, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse], /) -> Outcome:
        """SyncGroup."""
        ...

    def heartbeat(self, group: G_contra, request: HeartbeatRequest, /) -> HeartbeatResponse:
        """Heartbeat."""
        ...

    def leave(
        self, group: G_contra, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find, /
    ) -> Outcome:
        """LeaveGroup."""
        ...

    def consumer_heartbeat(self, group: G_contra, heartbeat: Heartbeat, /) -> Outcome:
        """ConsumerGroupHeartbeat."""
        ...

    def tick(self, group: G_contra, find: Find, /) -> Outcome:
        """Do what is due."""
        ...

    def check_commit(self, group: G_contra, request: OffsetCommitRequest, version: int, /) -> None:
        """Check that this commit is allowed."""
        ...

    def check_commit_in_transaction(self, group: G_contra, request: TxnOffsetCommitRequest, /) -> None:
        """Check that this commit in a transaction is allowed."""
        ...

    def check_fetch(self, group: G_contra, request: OffsetFetchRequestGroup, /) -> None:
        """Check that the requesting member may fetch offsets."""
        ...

    def describe(self, group: G_contra, group_id: str, /) -> DescribedGroup:
        """DescribeGroups."""
        ...

    def describe_consumer(self, group: G_contra, group_id: str, /) -> DescribedConsumerGroup:
        """ConsumerGroupDescribe."""
        ...

    def topics_changed(self, group: G_contra, names: frozenset[str], /) -> None:
        """Topics were created or deleted, or have more partitions."""
        ...

    def end(self, group: G_contra, /) -> list[CoordinatorRecord]:
        """The records that end an empty group."""
        ...


_CLASSIC: Kind[ClassicGroup] = classic
_CONSUMER: Kind[ConsumerGroup] = consumer
_NO_GROUP: Kind[None] = no_group

_KINDS: dict[type, Kind[Any]] = {ClassicGroup: _CLASSIC, ConsumerGroup: _CONSUMER, NoneType: _NO_GROUP}


def kind_of(group: Group | None) -> Kind[Any]:
    """The kind of a group; ``no_group`` for None."""
    return _KINDS[type(group)]
