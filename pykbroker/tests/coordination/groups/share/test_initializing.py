"""Partitions of a share group get their state before members get them, however often that must be tried."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.coordination.groups.share.test_targets import group_of
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


class Refusing:
    """The way to a share coordinator that initializes nothing, for as often as it is asked."""

    def __init__(self, states, refusals: int) -> None:
        self._states = states
        self.asked = 0
        self.refusals = refusals

    def __getattr__(self, name: str):
        return getattr(self._states, name)

    def initialize(self, *what) -> Deferred[None]:
        self.asked += 1
        if self.asked <= self.refusals:
            return Deferred.failed(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return self._states.initialize(*what)


def refusing(world: ShareCluster, refusals: int) -> Refusing:
    broker = world.cluster.brokers[world.coordinator(SHARE_GROUP)]
    found = Refusing(broker.share_states, refusals)
    vars(broker)["share_states"] = found
    return found


def test_what_cannot_be_initialized_is_tried_again_with_the_next_heartbeat() -> None:
    world = ShareCluster()
    states = refusing(world, 2)
    answer = world.heartbeat("one", 0, ["t"])
    world.settle()
    assert (states.asked, group_of(world).initializing, group_of(world).initialized) == (1, {}, {})
    world.heartbeat("one", answer.member_epoch)
    world.settle()
    world.heartbeat("one", answer.member_epoch)
    assert states.asked == 3
    for _ in range(5):  # the share coordinator makes its topic, and loads it
        world.advance(1000)
        world.settle()
    assert group_of(world).initialized[world.topic_id].partitions == frozenset({0})


def test_what_is_being_initialized_is_not_asked_for_twice_until_that_took_too_long() -> None:
    world = ShareCluster(group_share_initialize_retry_interval_ms="30000")
    states = refusing(world, 0)
    unanswered: list[Deferred[None]] = []
    states.initialize = lambda *what: unanswered.append(Deferred()) or unanswered[-1]  # type: ignore[method-assign]
    epoch = world.heartbeat("one", 0, ["t"]).member_epoch
    for passed in (0, 10_000, 19_999):
        world.advance(passed)
        world.heartbeat("one", epoch)
        world.settle()
        assert len(unanswered) == 1, passed
    world.advance(1)
    world.heartbeat("one", epoch)
    world.settle()
    assert len(unanswered) == 2


def test_a_kill_in_the_middle_leaves_nothing_out() -> None:
    world = ShareCluster()
    refusing(world, 0).initialize = lambda *what: Deferred()  # type: ignore[method-assign]
    epoch = world.heartbeat("one", 0, ["t"]).member_epoch
    world.settle()
    assert group_of(world).initializing
    world.restart(kill=True)
    for _ in range(60):
        world.advance(1000)
        epoch = world.heartbeat("one", epoch, ["t"]).member_epoch
        world.settle()
    assert group_of(world).initialized[world.topic_id].partitions == frozenset({0})
    world.produce(1)
    assert ShareMember(world, "one").acquired() == [(0, 0, 1)]


def test_new_partitions_are_initialized_too() -> None:
    world = ShareCluster()
    epoch = world.joined("one").member_epoch
    assert world.controller.create_partitions([NewPartitions("t", 3)]).done
    settled(world, epoch)
    assert group_of(world).initialized[world.topic_id].partitions == frozenset({0, 1, 2})


@pytest.mark.parametrize("kill", [False, True], ids=["at once", "after a kill"])
def test_a_topic_made_anew_is_initialized_anew_and_the_former_is_forgotten(kill: bool) -> None:
    """The group wrote down the deletion with its next heartbeat; after a kill before that it raised its epoch with each for ever."""
    world = ShareCluster()
    world.configure("share.assignment.interval.ms", "0")
    epoch = world.joined("one").member_epoch
    assert world.ask(DeleteTopicsRequest([DeleteTopicState("t")], timeout_ms=1000), 6).responses[0].error_code == 0
    if kill:
        world.restart(kill=True)
    again = world.create(NewTopic("t", 1, 1))
    epoch = settled(world, epoch)
    group = group_of(world)
    assert (group.initialized.keys(), group.targets["one"].keys()) == ({again}, {again})
    assert settled(world, epoch) == epoch
    shards = world.cluster.brokers[world.coordinator(SHARE_GROUP)].shares.shards.loaded.values()
    assert {key.topic_id for loaded in shards for key in loaded.shard.states} == {again}


def settled(world: ShareCluster, epoch: int) -> int:
    for _ in range(5):
        world.advance(1000)
        epoch = world.heartbeat("one", epoch, ["t"]).member_epoch
        world.settle()
    return epoch
