"""Any events in any order: what must always hold of a group, and that its log tells the same story after a restart."""

import math

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.tests.coordination.groups.harness import Harness
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode

PROTOCOLS = st.sampled_from(
    [
        {"range": SUBSCRIBED_TO_T},
        {"range": SUBSCRIBED_TO_T, "sticky": SUBSCRIBED_TO_T},
        {"sticky": SUBSCRIBED_TO_T, "range": SUBSCRIBED_TO_T},
        {"sticky": SUBSCRIBED_TO_T},
    ]
)
INSTANCES = st.sampled_from(["i1", "i2", "i3"])


class Groups(RuleBasedStateMachine):
    """Six clients, each of which may know some id, against one group."""

    def __init__(self) -> None:
        super().__init__()
        self.h = Harness(initial_rebalance_delay_ms=100, max_size=5)
        #: Every id that was ever given out, with its instance id.
        self.ids: list[tuple[str, str | None]] = [("made-up", None)]
        self.waiting: list = []
        self.offsets: dict[tuple[str, int], tuple[int, str]] = {}
        self.generation = 0

    def some_id(self, data) -> tuple[str, str | None]:
        return data.draw(st.sampled_from(self.ids))

    @rule(protocols=PROTOCOLS, version=st.sampled_from([3, 9]))
    def join_new(self, protocols, version):
        self.note(self.h.join(protocols=protocols, version=version), None)

    @rule(instance=INSTANCES, protocols=PROTOCOLS, version=st.sampled_from([5, 9]))
    def join_static(self, instance, protocols, version):
        self.note(self.h.join(instance_id=instance, protocols=protocols, version=version), instance)

    @rule(data=st.data(), protocols=PROTOCOLS, session_ms=st.sampled_from([7_000, 10_000]))
    def join_again(self, data, protocols, session_ms):
        member_id, instance = self.some_id(data)
        joining = self.h.join(member_id, instance_id=instance, protocols=protocols, session_ms=session_ms)
        self.note(joining, instance)

    def note(self, reply, instance: str | None) -> None:
        reply.when_done(
            lambda done: self.ids.append((done.value.member_id, instance)) if done.value.member_id else None
        )
        self.waiting.append(reply)

    @rule(data=st.data(), assign=st.booleans())
    def sync(self, data, assign):
        member_id, instance = self.some_id(data)
        members = [] if GROUP not in self.h.shard.groups else self.h.group.members
        assignments = {member.member_id: member.member_id.encode() for member in members} if assign else {}
        self.waiting.append(self.h.sync(member_id, assignments, instance_id=instance))

    @rule(data=st.data())
    def heartbeat(self, data):
        member_id, instance = self.some_id(data)
        code = self.h.heartbeat(member_id, instance_id=instance)
        if code is ErrorCode.NONE:
            assert self.h.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE)

    @rule(data=st.data())
    def leave(self, data):
        member_id, instance = self.some_id(data)
        self.h.leave((member_id, instance))
        if GROUP in self.h.shard.groups:
            assert member_id not in self.h.group.members or instance is not None

    @rule(ms=st.sampled_from([1, 100, 3_000, 10_000, 60_000]))
    def time_passes(self, ms):
        self.h.advance(ms)

    @rule(data=st.data(), offset=st.integers(0, 9), partition=st.integers(0, 2), as_member=st.booleans())
    def commit(self, data, offset, partition, as_member):
        member_id, instance = self.some_id(data) if as_member else ("", None)
        generation = self.h.group.generation if as_member and GROUP in self.h.shard.groups else -1
        code = self.h.commit({("t", partition): offset}, member_id, generation, instance_id=instance)
        if code is ErrorCode.NONE:
            self.offsets["t", partition] = (offset, "")

    @rule()
    def delete(self):
        if self.h.delete_group() is ErrorCode.NONE:
            self.offsets.clear()
            self.generation = 0

    @rule()
    def the_next_append_fails(self):
        self.h.append_error = ErrorCode.NOT_COORDINATOR

    @rule()
    def restart(self):
        """Nobody is told anything; what waited is lost with its connection."""
        self.h.restart()
        self.h.behind = False
        self.waiting.clear()
        self.generation = 0

    # What always holds

    @invariant()
    @precondition(lambda self: GROUP in self.h.shard.groups)
    def counts_agree_with_the_members(self):
        members = self.h.group.members
        assert members.awaiting_join == sum(member.joining is not None for member in members)
        assert members.pending_sync <= {member.member_id for member in members}
        assert (members.leader is None) == (len(members) == 0)
        assert members.leader is None or members.leader in members
        assert not members.pending.keys() & {member.member_id for member in members}
        for member in members:
            assert members.static_id(member.instance_id) in (None, member.member_id)
            assert member.joining is None or member.syncing is None

    @invariant()
    @precondition(lambda self: GROUP in self.h.shard.groups)
    def states_mean_what_they_say(self):
        group = self.h.group
        if group.state is ClassicGroupState.EMPTY:
            assert len(group.members) == 0
        elif group.state is ClassicGroupState.STABLE:
            assert len(group.members) > 0
            assert all(member.joining is None and member.syncing is None for member in group.members)
        elif group.state is ClassicGroupState.COMPLETING_REBALANCE:
            assert all(member.joining is None for member in group.members)
        else:
            assert group.state is ClassicGroupState.PREPARING_REBALANCE
            assert all(member.syncing is None for member in group.members)
        assert group.generation >= self.generation
        self.generation = group.generation

    @invariant()
    def nobody_waits_forgotten(self):
        self.waiting = [reply for reply in self.waiting if not reply.done]
        members = list(self.h.group.members) if GROUP in self.h.shard.groups else []
        held = [waits for member in members for waits in (member.joining, member.syncing) if waits is not None]
        assert {id(reply) for reply in self.waiting} == {id(waits) for waits in held}

    @invariant()
    @precondition(lambda self: GROUP in self.h.shard.groups)
    def whoever_waits_is_woken(self):
        group = self.h.group
        deadlines = [member.deadline for member in group.members]
        assert group.wake_at <= min(deadlines, default=math.inf)
        if self.waiting:
            assert group.wake_at < math.inf

    @invariant()
    def offsets_are_those_committed(self):
        assert self.h.committed() == self.offsets

    @invariant()
    def the_log_tells_the_same_story(self):
        """Of a group at rest everything, of one that rebalances the offsets."""
        live = self.h.shard.groups.get(GROUP)
        again = Harness()
        again.clock, again.log = self.h.clock, self.h.log
        again.shard = GroupShard(again.around)
        again.restart()
        assert again.committed() == self.offsets
        stored = again.shard.groups.get(GROUP)
        assert (live is None) == (stored is None)
        if live is not None and live.state in (ClassicGroupState.EMPTY, ClassicGroupState.STABLE) and not self.h.behind:
            assert at_rest(live) == at_rest(stored)


def at_rest(group) -> tuple:
    members = {
        member.member_id: (
            member.instance_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata(group.protocol),
            member.assignment,
        )
        for member in group.members
    }
    return (
        group.state,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.members.leader,
        group.state_timestamp_ms,
        members,
    )


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
