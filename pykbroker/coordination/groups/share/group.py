"""A share group's members, epochs, assignments, and the partitions whose state is initialized (KIP-932).

The log holds it, and only ``replaying`` changes it. Epochs are those of a consumer group, but a member moves to its target at
once: partitions are shared, so nothing has to be revoked first. Members are assigned initialized partitions only. Source of the
rules: Apache Kafka 4.4.0's ShareGroup.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from pykbroker.coordination.groups.member_group import MemberGroup, count_down, names_after
from pykbroker.coordination.groups.share.settings import ShareSettings
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import Outcome

#: Topic id to partitions.
Partitions = dict[bytes, frozenset[int]]

_FIRST_EPOCH = 1
_RETRY_S = 0.5  # the coordinator runtime's, in Kafka


class ShareGroupState(Enum):
    """Values are the names that clients are shown."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True)
class ShareMember:
    """Replaced when it changes, never altered."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    #: With a slash before the address, as in Kafka.
    client_host: str = ""
    subscribed: frozenset[str] = frozenset()
    epoch: int = 0
    previous_epoch: int = -1
    assigned: Partitions = field(default_factory=dict)


@dataclass(slots=True)
class TopicState:
    """The partitions of a topic whose state is initialized, or being initialized since ``since_ms``."""

    name: str
    partitions: frozenset[int]
    since_ms: int = 0


class ShareGroup(MemberGroup[ShareMember]):
    """See the module."""

    __slots__ = (
        "_names",
        "_sessions",
        "_wake_at",
        "deleting",
        "epoch",
        "initialized",
        "initializing",
        "is_dead",
        "metadata_hash",
        "metadata_is_stale",
        "state_gone",
        "target_epoch",
        "target_timestamp_ms",
        "targets",
    )

    type_name = "share"
    protocol_type = "share"
    offsets_age = False
    #: Its records stay when it is empty; so does what its members have acknowledged.
    expires = False
    empty_since_ms = None

    def __init__(self, group_id: str, around: Surroundings) -> None:
        super().__init__(group_id, around)
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        #: When the target was computed, epoch milliseconds; 0 before the first.
        self.target_timestamp_ms = 0
        self.targets: dict[str, Partitions] = {}
        #: By topic id.
        self.initialized: dict[bytes, TopicState] = {}
        self.initializing: dict[bytes, TopicState] = {}
        #: Topics whose state is being deleted, by id, with their names.
        self.deleting: dict[bytes, str] = {}
        #: Whether topics with state were deleted, so that the record of that state must be written again.
        self.state_gone = False
        self.metadata_is_stale = True
        self.is_dead = False
        self._wake_at = math.inf
        self._names: Counter[str] = Counter()
        #: Member id to the end of its session, in monotonic seconds.
        self._sessions: dict[str, float] = {}

    # Questions

    @property
    def wake_at(self) -> float:
        """When something becomes due, in monotonic seconds."""
        return self._wake_at

    @property
    def state(self) -> ShareGroupState:
        """The state that clients are shown."""
        if self.is_dead:
            return ShareGroupState.DEAD
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def settings(self) -> ShareSettings:
        return self.around.settings.of(ShareSettings)

    def subscribes(self, topic: str) -> bool:
        """Whether its members subscribe to this topic."""
        return topic in self._names

    def subscribes_to_any(self, topics: frozenset[str]) -> bool:
        """Whether any member is subscribed to one of these."""
        return not self._names.keys().isdisjoint(topics)

    def topics_after(self, before: Iterable[ShareMember], after: ShareMember | None = None) -> set[str]:
        """The topics to which the group is subscribed after members change or leave."""
        joining = () if after is None else after.subscribed
        return names_after(self._names, [member.subscribed for member in before], joining)

    def has_initialized_unassigned(self) -> bool:
        """Whether initialized partitions of subscribed topics are in nobody's target, or the other way round."""
        if not self.members:
            return False
        targeted: Partitions = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                targeted[topic_id] = targeted.get(topic_id, frozenset()) | partitions
        return any(
            topic.name in self._names and targeted.get(topic_id) != topic.partitions
            for topic_id, topic in self.initialized.items()
            if self.around.image.topic_by_id(topic_id) is not None  # not another one of the name
        )

    def has_deleted_topics(self) -> bool:
        """Whether topics with state, or about to have it, are there no longer."""
        known = (*self.initialized, *self.initializing, *self.deleting)
        return any(self.around.image.topic_by_id(topic_id) is None for topic_id in known)

    # Changes; called by ``replaying`` alone

    def put(self, member: ShareMember) -> None:
        """Add or replace a member."""
        self._forget_names(self.members.get(member.member_id))
        self.members[member.member_id] = member
        self._names.update(member.subscribed)

    def remove(self, member_id: str) -> None:
        """Remove a member."""
        self._forget_names(self.members.pop(member_id, None))
        self._sessions.pop(member_id, None)

    def _forget_names(self, member: ShareMember | None) -> None:
        if member is not None:
            count_down(self._names, member.subscribed)

    # Life in the shard

    def keep_alive(self, member_id: str) -> None:
        """Restart a member's session timeout."""
        self._expect(member_id, self.session_timeout_ms / 1000)

    def _expect(self, member_id: str, seconds: float) -> None:
        deadline = self._sessions[member_id] = self.around.clock.monotonic() + seconds
        self._wake_at = min(self._wake_at, deadline)

    def overdue(self) -> list[ShareMember]:
        """The members whose sessions are over. Members that remain (the log could not be written) are due again soon."""
        now = self.around.clock.monotonic()
        over = [self.members[each] for each, end in self._sessions.items() if end <= now and each in self.members]
        self._wake_at = math.inf
        for member in over:
            self._sessions[member.member_id] = now + _RETRY_S
        self._wake_at = min(self._sessions.values(), default=math.inf)
        return over

    def notice_deleted_topics(self) -> None:
        """Topics with state were deleted: the next ``tick`` writes that down."""
        self.state_gone = True
        self._wake_at = -math.inf

    def loaded(self) -> Outcome:
        """See ``Group``."""
        for member_id in self.members:
            self.keep_alive(member_id)
        if self.has_deleted_topics():  # the broker ended before that was written down
            self.notice_deleted_topics()
        return Outcome()

    def die(self) -> None:
        """See ``Group``."""
        self.is_dead = True
        self._wake_at = math.inf
