"""Members that beat, stall, crash, come back and lose answers, in any order: no partition is ever used by two of them,
and the log tells all of it again after a restart.

The model is what the members themselves believe. A member uses what it was given until it gives it back in a heartbeat
or learns that it is fenced; one whose session is over has stopped, as clients do when they have not been answered for so
long.
"""

from __future__ import annotations

import math

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pykbroker.coordination.groups.consumer.group import ConsumerGroup, ConsumerGroupState
from pykbroker.coordination.groups.consumer.member import MemberState
from pykbroker.coordination.groups.member_group import LEAVING, LEAVING_FOR_NOW
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.tests.coordination.groups.consumer.harness import SESSION_MS, Client, ConsumerHarness, persisted, settle
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.errors import ErrorCode

MEMBERS = st.integers(0, 3)
TOPICS = ("t", "u", "v")


class ConsumerGroups(RuleBasedStateMachine):
    """Four members, two of them static, and three topics."""

    def __init__(self) -> None:
        super().__init__()
        self.h = ConsumerHarness()
        self.h.topic("t", 3)
        self.epoch = 0
        self.lives = 0
        self.clients = [self.fresh(number) for number in range(4)]

    @initialize(there=st.integers(0, 4))
    def some_have_settled(self, there):
        settle(*self.clients[:there])

    def fresh(self, number: int) -> Client:
        """A member with an id of its own; the last two share their names with their former selves."""
        self.lives += 1
        instance = f"i{number}" if number >= 2 else None
        return Client(self.h, f"m{number}-{self.lives}", "t", "u", instance_id=instance)

    @property
    def group(self) -> ConsumerGroup | None:
        found = self.h.shard.groups.get(GROUP)
        return found if isinstance(found, ConsumerGroup) else None

    # What members do

    @rule(beats=st.lists(st.tuples(MEMBERS, st.booleans()), min_size=1, max_size=6))
    def beat(self, beats):
        """Some answers are lost: the member goes on with what it knows."""
        for number, loses_answer in beats:
            self.clients[number].beat(loses_answer=loses_answer)
            self.no_partition_is_used_by_two()

    @rule(number=MEMBERS, loses_answer=st.booleans())
    def beat_and_say_nothing(self, number, loses_answer):
        """Between changes clients say who they are, and no more."""
        client = self.clients[number]
        if client.epoch:
            client.beat(loses_answer=loses_answer, says_nothing=True)

    @rule(number=MEMBERS, topics=st.lists(st.sampled_from(TOPICS), unique=True))
    def subscribe(self, number, topics):
        self.clients[number].topics = topics

    @rule(number=MEMBERS, for_now=st.booleans())
    def leave(self, number, for_now):
        client = self.clients[number]
        client.leave(LEAVING_FOR_NOW if for_now and client.instance_id else LEAVING)

    @rule(number=st.integers(2, 3), topics=st.none() | st.lists(st.sampled_from(TOPICS), unique=True))
    def leave_for_now_and_come_back(self, number, topics):
        """A static member is restarted, perhaps with another configuration. What it had is kept for it meanwhile."""
        client, group = self.clients[number], self.group
        settled = group is not None and group.state is ConsumerGroupState.STABLE and client.member_id in group.members
        epoch = 0 if group is None else group.epoch
        client.leave(LEAVING_FOR_NOW)
        had = self.h.by_id(client.left_with)
        for other in self.clients:
            if other is not client:
                other.beat()
        again = self.clients[number] = self.fresh(number)
        again.topics = client.topics if topics is None else topics
        if again.beat() is ErrorCode.NONE and settled and self.group.epoch == epoch:
            assert self.h.by_id(again.owned) == had

    @rule(number=MEMBERS)
    def crash_and_come_back(self, number):
        """A new process in its place; nobody told the group."""
        self.clients[number] = self.fresh(number)

    @rule(number=MEMBERS, owned=st.sets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 4))))
    def say_anything(self, number, owned):
        """A client that makes up what it owns takes nothing away from others."""
        known = self.clients[number]
        liar = Client(self.h, known.member_id, *known.topics, instance_id=known.instance_id)
        liar.epoch, liar.owned = known.epoch, owned | known.owned if known.epoch else set()
        if liar.beat() is ErrorCode.NONE:
            known.epoch, known.owned = liar.epoch, liar.owned
        else:
            known.epoch, known.owned = liar.epoch, known.owned & liar.owned

    # What happens around them

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(1, 5))
    def topics_change(self, name, partitions):
        known = self.h.around.image.topic(name)
        if known is None or len(known.partitions) < partitions:
            self.h.topic(name, partitions)

    @rule(name=st.sampled_from(TOPICS))
    @precondition(lambda self: self.h.around.image.topics)
    def topic_goes(self, name):
        if name in self.h.around.image.topics:
            self.h.delete_topic(name)
            for client in self.clients:
                client.owned = {where for where in client.owned if where[0] != name}

    @rule(ms=st.sampled_from([1, 100, 5_000, 20_000, 45_000]))
    def time_passes(self, ms):
        self.h.advance(ms)
        self.nobody_is_fenced_who_was_heard_of()
        self.stop_those_that_were_fenced()

    def nobody_is_fenced_who_was_heard_of(self) -> None:
        """But one that has something to give back, and perhaps did not in time."""
        for client in self.clients:
            if (
                client.epoch
                and round((self.h.clock.monotonic() - client.heard) * 1000)
                < SESSION_MS  # whole ms: seconds are not exact
                and not client.must_give_back
            ):
                assert self.group is not None
                assert client.member_id in self.group.members

    def stop_those_that_were_fenced(self) -> None:
        """A member that the group has given up has stopped by its own clock."""
        members = {} if self.group is None else self.group.members
        for client in self.clients:
            if client.member_id not in members:
                client.forget()

    @rule()
    def the_next_append_fails(self):
        self.h.append_error = ErrorCode.NOT_COORDINATOR

    @rule()
    def restart(self):
        self.h.restart()

    @rule()
    def delete(self):
        if self.h.delete_group() is ErrorCode.NONE:
            self.epoch = 0

    # What always holds

    @invariant()
    def no_partition_is_used_by_two(self):
        members = {} if self.group is None else self.group.members
        used: dict[tuple[str, int], str] = {}
        for client in self.clients:
            if client.member_id in members:
                for where in client.owned:
                    assert where not in used, f"{where} is used by {used[where]} and {client.member_id}"
                    used[where] = client.member_id

    @invariant()
    @precondition(lambda self: self.group is not None)
    def no_partition_is_held_by_two(self):
        held: dict[tuple[bytes, int], str] = {}
        for member in self.group.members.values():
            for owned in (member.assigned, member.revoking):
                for topic_id, partitions in owned.items():
                    for partition, since in partitions.items():
                        assert (topic_id, partition) not in held
                        held[topic_id, partition] = member.member_id
                        assert since <= max(member.epoch, self.group.epoch)
                        assert not self.group.is_free(topic_id, partition)

    @invariant()
    @precondition(lambda self: self.group is not None)
    def epochs_follow_each_other(self):
        group = self.group
        assert group.epoch >= self.epoch
        self.epoch = group.epoch
        assert group.target_epoch <= group.epoch
        for member in group.members.values():
            assert member.epoch <= group.target_epoch
            if member.state is not MemberState.UNREVOKED_PARTITIONS:
                assert not member.revoking
        assert (group.state is ConsumerGroupState.EMPTY) == (not group.members)
        assert group.targets.keys() <= group.members.keys()

    @invariant()
    @precondition(lambda self: self.group is not None)
    def whoever_is_there_is_watched(self):
        assert not self.group.members or self.group.wake_at < math.inf

    @invariant()
    def the_log_tells_the_same_story(self):
        again = GroupShard(self.h.around)
        live, self.h.shard = self.h.shard, again
        self.h.replay()
        self.h.shard = live
        stored = again.groups.get(GROUP)
        assert (stored is None) == (live.groups.get(GROUP) is None)
        if isinstance(stored, ConsumerGroup) and self.group is not None:
            assert persisted(stored) == persisted(self.group)

    def teardown(self):
        """Left alone, the members share everything that one of them reads, and nobody has what he does not read."""
        self.h.append_error = None
        for _ in range(3):
            self.h.advance(40_000)
            self.stop_those_that_were_fenced()
            for client in self.clients:
                client.beat()
        settle(*self.clients, rounds=20)
        topics = self.h.around.image.topics
        read = {name for client in self.clients for name in client.topics if name in topics}
        owned = [where for client in self.clients for where in client.owned]
        assert sorted(owned) == sorted((name, index) for name in read for index in topics[name].partitions)
        assert all(name in client.topics for client in self.clients for name, _ in client.owned)
        assert self.group is not None
        assert self.group.state is ConsumerGroupState.STABLE


TestConsumerGroups = ConsumerGroups.TestCase
TestConsumerGroups.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
