"""The classic group protocol: one group's state, and every transition it makes.

    EMPTY       --- a member joins ---------------------------------> PREPARING_REBALANCE
    PREPARING   --- all have joined, or the time to join is up -----> COMPLETING_REBALANCE, or EMPTY when nobody is left
    COMPLETING  --- the leader's assignment is in the log ----------> STABLE
    COMPLETING, STABLE
                --- a member joins, leaves, changes or times out ---> PREPARING_REBALANCE
    any         --- the group is deleted or its shard unloaded -----> DEAD

1. The log holds the group at rest: EMPTY or STABLE, its members and their assignments. Only ``restore``, the replay of a
   record, enters these two states, at run time and after a restart alike.
2. A rebalance is not persisted, as in Kafka: after a restart the old generation is valid, and heartbeats tell its members
   to rejoin.
3. Time alone makes transitions, too: ``tick``, called at ``wake_at``, makes those of the deadlines that have passed
   (``deadlines.py``).

Every transition is in this file; the modules joining, syncing and leaving decide which one a request makes.
Source of the rules: Apache Kafka 4.4.0 (GroupMetadataManager's classic part), KIP-62, KIP-134, KIP-345, KIP-394.
"""

from __future__ import annotations

import logging
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.answers import assigned, joined, not_assigned, not_joined
from pykbroker.coordination.groups.classic.deadlines import GroupDeadlines, lapsed, silent
from pykbroker.coordination.groups.classic.initial_delay import InitialDelay
from pykbroker.coordination.groups.classic.member import Member, restored_member
from pykbroker.coordination.groups.classic.membership import Membership
from pykbroker.coordination.groups.consumer_protocol import PROTOCOL_TYPE, subscribed_topics
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.records import group_record
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.internal.group_metadata import GroupMetadataValue

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

log = logging.getLogger(__name__)


class ClassicGroupState(Enum):
    """Values are the names that DescribeGroups and ListGroups show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_LEADS_TO_PREPARING = (ClassicGroupState.EMPTY, ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE)


class ClassicGroup(Group):
    """A group in which one member, the leader, computes the assignment."""

    __slots__ = (
        "_clock",
        "_initial",
        "deadlines",
        "generation",
        "members",
        "owes_rebalance",
        "protocol",
        "protocol_type",
        "settings",
        "state",
        "state_timestamp_ms",
        "subscribed_topics",
    )

    type_name = "classic"
    state: ClassicGroupState
    members: Membership
    protocol_type: str | None

    def __init__(self, group_id: str, clock: Clock, settings: GroupSettings) -> None:
        super().__init__(group_id)
        self._clock = clock
        self.settings = settings
        self.state = ClassicGroupState.EMPTY
        #: When the state was entered, in epoch milliseconds; -1 if no record has it.
        self.state_timestamp_ms = -1
        self.generation = 0
        #: The protocol type ("consumer", "connect"); None for a group that only commits offsets.
        self.protocol_type: str | None = None
        #: The assignment protocol of this generation.
        self.protocol: str | None = None
        self.members = Membership()
        #: The subscribed topics; None unless the members are consumers whose subscriptions can be decoded.
        self.subscribed_topics: frozenset[str] | None = None
        #: Whether the last record downgraded it from a consumer group: members may lack part of their assignments.
        self.owes_rebalance = False
        #: The initial delay of the current rebalance, if it is the first since the group was empty.
        self._initial: InitialDelay | None = None
        self.deadlines = GroupDeadlines(clock)

    # The group at rest

    def at_rest(self, generation: int, assignments: dict[str, bytes]) -> CoordinatorRecord:
        """The record of the group at rest: generation, members and assignments."""
        return group_record(
            self.group_id,
            generation=generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol if len(self.members) else None,
            leader=self.members.leader,
            timestamp_ms=self._clock.now_ms(),
            members=[(member, assignments.get(member.member_id, b"")) for member in self.members],
        )

    def restore(self, value: GroupMetadataValue) -> None:
        """Replay the group's record. Known members keep the state that the log does not hold."""
        known = {member.member_id: member for member in self.members}
        self.members.clear()
        for stored in value.members:
            self.members.add(restored_member(stored, value.protocol, known.get(stored.member_id)))
        self.members.leader = value.leader
        self.members.pending_sync.intersection_update(member.member_id for member in value.members)
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol = value.protocol
        self.state = ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY
        self.state_timestamp_ms = value.current_state_timestamp
        self._note_subscriptions()

    def loaded(self) -> Outcome:
        """The log has been replayed: every member's session begins anew.

        A group that was downgraded from a consumer group rebalances. (Kafka forgets that when the coordinator ends: a
        member that waited for partitions then waits for the next rebalance.)
        """
        out = Outcome()
        for member in self.members:
            self.deadlines.touch(member)
        if len(self.members) > self.settings.max_size:
            self.prepare_rebalance("the group was loaded and is over capacity", out)
        elif self.owes_rebalance and len(self.members):
            self.prepare_rebalance("the group was loaded and had just left the consumer protocol", out)
        return out

    def unload(self) -> Outcome:
        """The shard is unloaded: waiting requests are answered NOT_COORDINATOR."""
        out = Outcome()
        for member in self.members:
            code = ErrorCode.NOT_COORDINATOR
            out.reply(member.joining, not_joined(code, member.member_id))
            out.reply(member.syncing, not_assigned(code))
        self.die()
        return out

    def die(self) -> None:
        """The last transition; nothing wakes the group any more."""
        self.state = ClassicGroupState.DEAD
        self.deadlines.end()

    # Questions

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    def subscribes(self, topic: str) -> bool:
        """Whether its members subscribe to this topic; consumers with unknown subscriptions count as subscribed to all."""
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.protocol_type == PROTOCOL_TYPE

    @property
    def offsets_age(self) -> bool:
        """Whether offsets can expire: the group is empty, or its subscriptions are known."""
        if self.is_empty or self.protocol_type is None:
            return True
        return (
            self.protocol_type == PROTOCOL_TYPE
            and self.subscribed_topics is not None
            and self.state is ClassicGroupState.STABLE
        )

    @property
    def empty_since_ms(self) -> int | None:
        """The time from which its offsets age, in epoch milliseconds; None if each ages from its commit."""
        if self.protocol_type is not None and self.is_empty and self.state_timestamp_ms >= 0:
            return self.state_timestamp_ms
        return None

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether a member that offers these protocols can join."""
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        return self.protocol_type == protocol_type and self.members.agree_with(names)

    def accepts(self, member_id: str) -> bool:
        """Whether there is room for this member under ``group.max.size``.

        While the group prepares to rebalance, the joined members are counted instead: after the limit was lowered, the
        last members to rejoin are the ones that are refused.
        """
        member = self.members.get(member_id)
        if self.state is ClassicGroupState.PREPARING_REBALANCE:
            joined = member is not None and member.joining is not None
            return joined or self.members.awaiting_join < self.settings.max_size
        if self.state in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE):
            return member is not None or len(self.members) < self.settings.max_size
        return True

    # Time

    @property
    def wake_at(self) -> float:
        """When to call ``tick``, in monotonic seconds."""
        return self.deadlines.wake_at

    def tick(self) -> Outcome:
        """Do what is due."""
        out = Outcome()
        deadlines = self.deadlines
        now = deadlines.now()
        self._drop_silent(now, out)
        if deadlines.syncing <= now:
            self._drop_unsynced(out)
        if deadlines.joining <= now:
            self._join_time_is_up(out)
        deadlines.plan(self.members)
        return out

    def _drop_silent(self, now: float, out: Outcome) -> None:
        """Remove all members whose session has timed out, in one step."""
        forgotten = lapsed(self.members, now)
        for member_id in forgotten:
            self.members.remove(member_id)
        removed = silent(self.members, now)
        for member in removed:
            log.info("Group %s: member %s is removed: its session timed out", self.group_id, member.member_id)
            self.drop(member, out)
        if removed and self.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
            self.prepare_rebalance("session timeout of members", out)
        elif (forgotten or removed) and self.state is ClassicGroupState.PREPARING_REBALANCE and self.members.all_joined:
            self._complete_join(out)

    def _drop_unsynced(self, out: Outcome) -> None:
        """Remove the members that joined but did not ask for their assignment in time."""
        self.deadlines.synced()
        if self.members.pending_sync and self.state in (
            ClassicGroupState.STABLE,
            ClassicGroupState.COMPLETING_REBALANCE,
        ):
            for member_id in list(self.members.pending_sync):
                self.members.remove(member_id)
            self.prepare_rebalance("members did not sync in time", out)

    # From one state to the next

    def drop(self, member: Member, out: Outcome) -> None:
        """Remove a member. A request of it that waits is answered UNKNOWN_MEMBER_ID, so that it joins as a new member."""
        out.reply(member.joining, not_joined(ErrorCode.UNKNOWN_MEMBER_ID))
        out.reply(member.syncing, not_assigned(ErrorCode.UNKNOWN_MEMBER_ID))
        self.members.remove(member.member_id)

    def rebalance_or_complete(self, reason: str, out: Outcome) -> None:
        """Start a rebalance or, if one is under way, complete it if all members have joined."""
        if self.state in _LEADS_TO_PREPARING:
            self.prepare_rebalance(reason, out)
        else:
            self.complete_if_joined(out)

    def prepare_rebalance(self, reason: str, out: Outcome) -> None:
        """Start a rebalance: all members must rejoin, and SyncGroups of this generation are answered REBALANCE_IN_PROGRESS."""
        if self.state is ClassicGroupState.COMPLETING_REBALANCE:
            self._refuse_assignments(ErrorCode.REBALANCE_IN_PROGRESS, out)
        self.members.pending_sync.clear()
        self.deadlines.synced()
        timeout_ms = self.members.longest_rebalance_timeout_ms
        delay_ms = self.settings.initial_rebalance_delay_ms
        self._initial = InitialDelay(delay_ms, timeout_ms) if self.state is ClassicGroupState.EMPTY else None
        self._move_to(ClassicGroupState.PREPARING_REBALANCE)
        log.info("Group %s: preparing to rebalance generation %d (%s)", self.group_id, self.generation, reason)
        if self._initial is not None:
            self.deadlines.join_within(delay_ms)
        elif self.members.all_joined:
            self._complete_join(out)
        else:
            self.deadlines.join_within(timeout_ms)

    def complete_if_joined(self, out: Outcome) -> None:
        """Complete the rebalance if all members have joined, but not the first one, which waits for its initial delay."""
        if self.state is ClassicGroupState.PREPARING_REBALANCE and self._initial is None and self.members.all_joined:
            self._complete_join(out)

    def note_added(self) -> None:
        """A member was added; in the first rebalance this extends the initial delay."""
        if self.state is ClassicGroupState.PREPARING_REBALANCE and self._initial is not None:
            self._initial.somebody_came = True

    def _join_time_is_up(self, out: Outcome) -> None:
        wait_ms = None if self._initial is None else self._initial.another()
        if wait_ms is None:
            self._complete_join(out)
        else:
            self.deadlines.join_within(wait_ms)

    def _complete_join(self, out: Outcome) -> None:
        """Begin the next generation with the members that have joined and with static members, which may be restarting."""
        self.deadlines.joined()
        for member in [member for member in self.members if member.joining is None and member.instance_id is None]:
            self.members.remove(member.member_id)
        if not len(self.members):
            self._become_empty(out)
        elif not self.members.elect_joined_leader():
            # Nobody joined and only static members are left: wait until they join or their sessions time out.
            self.deadlines.join_within(self.members.longest_rebalance_timeout_ms)
        else:
            self._begin_generation(out)

    def _become_empty(self, out: Outcome) -> None:
        record = self.at_rest(self.generation + 1, {})
        out.records.append(record)
        out.otherwise = partial(self._empty_unrecorded, record)

    def _empty_unrecorded(self, record: CoordinatorRecord, error: ErrorCode) -> Outcome:
        """The log could not be written. The group is empty nevertheless; after a restart its last members exist again
        until they time out.
        """
        log.warning("Group %s: the record that it is empty cannot be written: %s", self.group_id, error.name)
        self.restore(record.value)
        return Outcome()

    def _begin_generation(self, out: Outcome) -> None:
        self.generation += 1
        self.protocol = self.members.select_protocol()
        self._note_subscriptions()
        self._move_to(ClassicGroupState.COMPLETING_REBALANCE)
        log.info(
            "Group %s: stabilized generation %d with %d members", self.group_id, self.generation, len(self.members)
        )
        for member in self.members:
            out.reply(member.joining, joined(self, member))
            self.members.set_joining(member, None)
            member.is_new = False
            self.deadlines.touch(member)
        self.members.pending_sync = {member.member_id for member in self.members}
        self.deadlines.sync_within(self.members.longest_rebalance_timeout_ms)

    # The assignment

    def synced(self, member_id: str) -> None:
        """A member has sent SyncGroup; once all have, the sync deadline is cancelled."""
        self.members.pending_sync.discard(member_id)
        if not self.members.pending_sync:
            self.deadlines.synced()

    def assign(self, assignments: dict[str, bytes], out: Outcome) -> None:
        """Record the leader's assignment, then answer all SyncGroups that wait for it."""
        out.records.append(self.at_rest(self.generation, assignments))
        out.then = self._hand_out
        out.otherwise = self._assignment_lost

    def _hand_out(self) -> Outcome:
        out = Outcome()
        for member in self.members:
            if member.syncing is not None:
                out.reply(member.syncing, assigned(self, member))
                member.syncing = None
                self.deadlines.touch(member)
        return out

    def _assignment_lost(self, error: ErrorCode) -> Outcome:
        out = Outcome()
        self._refuse_assignments(error, out)
        self.prepare_rebalance(f"the assignment could not be recorded: {error.name}", out)
        return out

    def _refuse_assignments(self, error: ErrorCode, out: Outcome) -> None:
        for member in self.members:
            member.assignment = b""
            if member.syncing is not None:
                out.reply(member.syncing, not_assigned(error))
                member.syncing = None
                self.deadlines.touch(member)

    def _note_subscriptions(self) -> None:
        if self.protocol_type != PROTOCOL_TYPE:
            self.subscribed_topics = None
        elif not len(self.members):
            self.subscribed_topics = frozenset()
        elif self.protocol is not None:
            subscriptions = [member.metadata(self.protocol) for member in self.members]
            self.subscribed_topics = subscribed_topics(subscriptions, self.group_id)

    def _move_to(self, state: ClassicGroupState) -> None:
        self.state = state
        self.state_timestamp_ms = self._clock.now_ms()
