"""The consumer protocol (KIP-848): one group's state. The log holds it, and only ``replaying`` changes it.

Three epochs drive it. The group epoch rises with every change that needs a new assignment. The target assignment epoch is
the group epoch for which the target was computed. A member's epoch is the target epoch that it has reached.

    EMPTY        no members
    ASSIGNING    the group epoch is ahead of the target assignment
    RECONCILING  some member lacks partitions of its target or holds others
    STABLE       every member has its target

Deadlines are not in the log. They are kept here in monotonic seconds, and ``wake_at`` is no later than the earliest. A
heartbeat only moves a deadline; ``due``, called at ``wake_at``, finds those that have passed.

The modules heartbeats, leaving and classic_members handle requests. Source of the rules: Apache Kafka 4.4.0's ConsumerGroup.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from pykbroker.coordination.groups.consumer.deadlines import MemberDeadlines
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Owned, Target
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.coordination.groups.member_group import MemberGroup, count_down, names_after, take
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import Outcome

_FIRST_EPOCH = 1


class ConsumerGroupState(Enum):
    """Values are the names that ConsumerGroupDescribe and ListGroups show."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True)
class ResolvedRegex:
    """The topics that match a pattern, at an offset of the metadata log (``version``) and a time in epoch milliseconds."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


class ConsumerGroup(MemberGroup[ConsumerMember]):
    """A group whose members are assigned their partitions by the coordinator."""

    __slots__ = (
        "_assignors",
        "_classic_protocols",
        "_named",
        "_owners",
        "_patterns",
        "_static",
        "deadlines",
        "epoch",
        "has_old_metadata",
        "is_dead",
        "metadata_hash",
        "metadata_is_stale",
        "regexes",
        "target_epoch",
        "target_timestamp_ms",
        "targets",
    )

    type_name = "consumer"
    protocol_type = "consumer"

    def __init__(self, group_id: str, around: Surroundings) -> None:
        super().__init__(group_id, around)
        self.epoch = _FIRST_EPOCH
        #: The hash of the subscribed topics' metadata; 0 if there are none.
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        #: When the target was computed, epoch milliseconds; 0 before the first.
        self.target_timestamp_ms = 0
        self.targets: dict[str, Target] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        #: Whether the log holds the topics' metadata in Kafka 4.0's form, which needs a tombstone.
        self.has_old_metadata = False
        self.is_dead = False
        self._static: dict[str, str] = {}
        #: The number of members that name a topic, a pattern, an assignor, and (classic members) a protocol.
        self._named: Counter[str] = Counter()
        self._patterns: Counter[str] = Counter()
        self._assignors: Counter[str] = Counter()
        self._classic_protocols: Counter[str] = Counter()
        #: The holder of each partition: it is assigned to that member, or the member has yet to revoke it.
        self._owners: dict[tuple[bytes, int], str] = {}
        #: Whether topics may have changed since the metadata hash was computed.
        self.metadata_is_stale = True
        self.deadlines = MemberDeadlines(around.clock)

    # Questions

    @property
    def state(self) -> ConsumerGroupState:
        """The state that ConsumerGroupDescribe and ListGroups show."""
        if self.is_dead:
            return ConsumerGroupState.DEAD
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def settings(self) -> ConsumerSettings:
        """The broker's settings of the consumer protocol."""
        return self.around.settings.of(ConsumerSettings)

    def target_of(self, member: ConsumerMember) -> Target:
        """The target assignment of a member. One that replaces a static member inherits its target."""
        own = self.targets.get(member.member_id)
        if own is None:
            former = self.static_member(member.instance_id)
            own = None if former is None else self.targets.get(former.member_id)
        return own or {}

    def is_free(self, topic_id: bytes, partition: int) -> bool:
        """Whether no member holds a partition."""
        return (topic_id, partition) not in self._owners

    def subscribes(self, topic: str) -> bool:
        """Whether any member is subscribed to a topic, by its name or by a pattern."""
        return topic in self._named or any(topic in regex.topics for regex in self.regexes.values())

    def subscribes_to_any(self, topics: frozenset[str]) -> bool:
        """Whether any member is subscribed to one of these."""
        if not self._named.keys().isdisjoint(topics):
            return True
        return any(not regex.topics.isdisjoint(topics) for regex in self.regexes.values())

    def subscribed_to(self, pattern: str | None) -> int:
        """The number of members with a pattern."""
        return self._patterns[pattern] if pattern else 0

    @property
    def has_patterns(self) -> bool:
        """Whether any member subscribes by a pattern."""
        return bool(self._patterns)

    @property
    def patterns(self) -> Counter[str]:
        """The number of members with each pattern; a copy."""
        return self._patterns.copy()

    def topics_after(
        self, before: Collection[ConsumerMember], after: ConsumerMember | None = None, without: Iterable[str] = ()
    ) -> set[str]:
        """The topics to which the group is subscribed after members change or leave (``without``: their patterns)."""
        patterns = self._patterns.copy()
        for member in before:
            patterns.subtract(_pattern_of(member))
        if after is not None:
            patterns.update(_pattern_of(after))
        topics = names_after(
            self._named,
            [member.subscribed_names for member in before],
            () if after is None else after.subscribed_names,
        )
        forgotten = set(without)
        for pattern, regex in self.regexes.items():
            if pattern not in forgotten and (patterns[pattern] > 0 or pattern not in self._patterns):
                topics |= regex.topics
        return topics

    def assignor_after(self, before: ConsumerMember | None, after: ConsumerMember | None) -> str:
        """The assignor that most members request after one changes; without requests the first configured one."""
        wanted = self._assignors.copy()
        wanted.subtract(_assignor_of(before))
        wanted.update(_assignor_of(after))
        most = max(wanted.values(), default=0)
        served = self.settings.assignors
        return next((name for name in served if most > 0 and wanted[name] == most), served[0])

    @property
    def classic_members(self) -> int:
        """The number of members that use the classic protocol."""
        return sum(1 for member in self.members.values() if member.classic is not None)

    def supports_classic(self, protocol_type: str, names: set[str]) -> bool:
        """Whether a classic member that offers these protocols shares one with all classic members."""
        if protocol_type != self.protocol_type or not names:
            return False
        count = self.classic_members
        return self.is_empty or any(self._classic_protocols[name] == count for name in names)

    # Changes; called by ``replaying`` alone

    def put(self, member: ConsumerMember) -> None:
        """Add or replace a member."""
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self._named.update(member.subscribed_names)
        self._patterns.update(_pattern_of(member))
        self._assignors.update(_assignor_of(member))
        self._classic_protocols.update(_protocols_of(member))
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        for where in _holdings(member):
            self._owners[where] = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id, None)
        self._forget(member)
        instance_id = None if member is None else member.instance_id
        if instance_id is not None and self._static.get(instance_id) == member_id:
            del self._static[instance_id]
        self.deadlines.forget(member_id)

    def _forget(self, member: ConsumerMember | None) -> None:
        if member is None:
            return
        count_down(self._named, member.subscribed_names)
        take(self._patterns, _pattern_of(member))
        take(self._assignors, _assignor_of(member))
        take(self._classic_protocols, _protocols_of(member))
        for where in _holdings(member):
            if self._owners.get(where) == member.member_id:
                del self._owners[where]

    # Life in the shard

    @property
    def wake_at(self) -> float:
        """When to call ``tick``, in monotonic seconds."""
        return math.inf if self.is_dead else self.deadlines.wake_at

    def loaded(self) -> Outcome:
        """The log has been replayed: every member's session begins anew."""
        for member in self.members.values():
            self.deadlines.restart_session(member.member_id, self.session_timeout_ms)
            self.deadlines.watch_revocation(member)
        return Outcome()

    def die(self) -> None:
        """The last transition; nothing wakes the group any more."""
        self.is_dead = True


def _pattern_of(member: ConsumerMember) -> list[str]:
    return [member.subscribed_regex] if member.subscribed_regex else []


def _assignor_of(member: ConsumerMember | None) -> list[str]:
    return [] if member is None or member.assignor is None else [member.assignor]


def _protocols_of(member: ConsumerMember) -> list[str]:
    return [] if member.classic is None else [protocol.name for protocol in member.classic.supported_protocols]


def _holdings(member: ConsumerMember) -> Iterable[tuple[bytes, int]]:
    for owned in (member.assigned, member.revoking):
        for topic_id, partitions in owned.items():
            for partition in partitions:
                yield topic_id, partition


def listed(owned: Owned) -> list[tuple[bytes, int]]:
    """The same as pairs of topic id and partition."""
    return [(topic_id, partition) for topic_id, partitions in owned.items() for partition in partitions]
