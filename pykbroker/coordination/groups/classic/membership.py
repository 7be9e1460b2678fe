"""The members of a classic group: members, leader, awaited members and common protocols.

Counts are kept up to date, so that a join costs the same in a group of three and of three thousand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, ValuesView

from pykbroker.coordination.groups.classic.member import Member, Protocols
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.join_group import JoinGroupResponse


def _names(protocols: Protocols) -> set[str]:
    return {name for name, _ in protocols}


class Membership:
    """Members by id, in the order in which they joined."""

    __slots__ = ("_members", "_offered", "_static", "awaiting_join", "leader", "pending", "pending_sync")

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._static: dict[str, str] = {}
        self._offered: Counter[str] = Counter()
        #: The member that computes the assignment.
        self.leader: str | None = None
        #: Unused ids answered with MEMBER_ID_REQUIRED, and their expiry in monotonic seconds.
        self.pending: dict[str, float] = {}
        #: Members of this generation that have not asked for their assignment yet.
        self.pending_sync: set[str] = set()
        #: The number of members with a waiting JoinGroup.
        self.awaiting_join = 0

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> Member:
        return self._members[member_id]

    def get(self, member_id: str) -> Member | None:
        return self._members.get(member_id)

    def values(self) -> ValuesView[Member]:
        return self._members.values()

    def static_id(self, instance_id: str | None) -> str | None:
        """The current member id of a ``group.instance.id`` (KIP-345)."""
        return None if instance_id is None else self._static.get(instance_id)

    @property
    def all_joined(self) -> bool:
        """Whether every member has a waiting JoinGroup and no given id is unused."""
        return self.awaiting_join == len(self._members) and not self.pending

    @property
    def longest_rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self), default=0)

    def validate(self, member_id: str, instance_id: str | None) -> Member:
        """The member that sent a request. Raises KafkaError UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if its
        ``group.instance.id`` now has another member id.
        """
        if instance_id is not None:
            current = self._static.get(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self._members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def add(self, member: Member) -> None:
        """Add a member; the first one leads."""
        self._members[member.member_id] = member
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        self._offered.update(_names(member.protocols))
        self.awaiting_join += member.joining is not None
        self.pending.pop(member.member_id, None)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> Member | None:
        """Remove a member or a given id; if it was the leader, the earliest remaining member leads."""
        self.pending.pop(member_id, None)
        self.pending_sync.discard(member_id)
        member = self._members.pop(member_id, None)
        if member is None:
            return None
        self._offered.subtract(_names(member.protocols))
        self.awaiting_join -= member.joining is not None
        if member.instance_id is not None and self._static.get(member.instance_id) == member_id:
            del self._static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self._members), None)
        return member

    def replace(self, old_id: str, new: Member) -> None:
        """Replace the static member ``old_id`` by ``new``, leadership included."""
        led = self.leader == old_id
        self.remove(old_id)
        self.add(new)
        if led:
            self.leader = new.member_id

    def clear(self) -> None:
        """Remove all members."""
        self._members.clear()
        self._static.clear()
        self._offered.clear()
        self.awaiting_join = 0
        self.leader = None

    def set_protocols(self, member: Member, protocols: Protocols) -> None:
        """Set the protocols that a member offers."""
        self._offered.subtract(_names(member.protocols))
        self._offered.update(_names(protocols))
        member.protocols = protocols

    def set_joining(self, member: Member, waiting: Deferred[JoinGroupResponse] | None) -> None:
        """Set or clear the waiting JoinGroup of a member."""
        self.awaiting_join += (waiting is not None) - (member.joining is not None)
        member.joining = waiting

    def elect_joined_leader(self) -> bool:
        """Make a joined member the leader. False if nobody has joined."""
        if self.leader is None:
            return False
        if self._members[self.leader].joining is None:
            self.leader = next((member.member_id for member in self if member.joining is not None), self.leader)
        return self._members[self.leader].joining is not None

    def agree_with(self, names: Iterable[str]) -> bool:
        """Whether all members offer at least one of these protocols."""
        size = len(self._members)
        return any(self._offered.get(name, 0) == size for name in names)

    def select_protocol(self) -> str:
        """The protocol with most votes among those that every member offers; on a tie the one voted for first."""
        size = len(self._members)
        candidates = {name for name, count in self._offered.items() if count == size}
        votes = Counter(member.vote(candidates) for member in self)
        return max(votes, key=votes.__getitem__)
