"""Replicas that are held back, on virtual time: a reassignment takes as long as its limit says, and who is in sync stays so."""

from __future__ import annotations

import pytest

from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.controller.reassignments import Reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.tests.brokers.test_replica_manager import OwnCopies
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

RATE = 10_000
BATCH = bytes(1000)
BATCHES = 100
#: The bytes of a fetch, each of which may go beyond the rate.
PIECE = 5000


class Throttled(OwnCopies):
    """Topic ``u`` has 100 batches of some 1,070 bytes on broker 1."""

    def __init__(self) -> None:
        super().__init__(replica_fetch_max_bytes=str(PIECE))
        self.create(NewTopic("u", assignments=[(0, [1])]))
        self.turns()
        self.produce_to_u(BATCHES)
        self.size = self.on(1, "u").log.segments[0].size

    def produce_to_u(self, number: int) -> None:
        data = [TopicProduceData("u", partition_data=[PartitionProduceData(0, encode_batch([Record(value=BATCH)]))])]
        for _ in range(number):
            self.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=data), 9, broker=1)

    def alter(self, kind: int, name: str, **settings: str | None) -> None:
        changes = [
            Change(setting.replace("_", "."), Operation.DELETE if value is None else Operation.SET, value)
            for setting, value in settings.items()
        ]
        self.finished(self.cluster.controller.alter_configs([Alteration(kind, name, changes)], broker_id=1))

    def limit(self, side: str, replicas: str, broker: str, rate: str | None = str(RATE)) -> None:
        self.alter(BROKER_RESOURCE, broker, **{f"{side}_replication_throttled_rate": rate})
        self.alter(TOPIC_RESOURCE, "u", **{f"{side}_replication_throttled_replicas": replicas})

    def copy_to_2(self) -> None:
        self.cluster.controller.alter_reassignments([Reassignment("u", 0, [1, 2])], same_factor=False)
        self.turns()

    @property
    def copied(self) -> int:
        partition = self.cluster.brokers[2].store.partition("u", 0)
        return 0 if partition is None or partition.opened_log is None else partition.log.segments[0].size

    def in_sync(self) -> bool:
        return sorted(self.image.topics["u"].partitions[0].isr) == [1, 2]


@pytest.fixture
def world() -> Throttled:
    return Throttled()


@pytest.mark.parametrize(
    ("side", "replicas", "broker"),
    [("leader", "0:1", "1"), ("leader", "*", ""), ("follower", "0:2", "2"), ("follower", "*", "")],
)
def test_a_copy_takes_as_long_as_its_limit_says(world: Throttled, side: str, replicas: str, broker: str) -> None:
    world.limit(side, replicas, broker)
    world.copy_to_2()
    for second in range(1, 9):
        world.pass_time(1000)
        assert (second - 1) * RATE - PIECE <= world.copied <= (second + 1) * RATE + PIECE, second
        assert not world.in_sync()
    world.pass_time(world.size * 1000 // RATE)
    assert world.copied == world.size
    assert world.in_sync()


@pytest.mark.parametrize(
    ("side", "replicas", "broker"), [("leader", "0:2", "1"), ("follower", "0:1", "2"), ("leader", "*", "3")]
)
def test_others_are_not_held_back(world: Throttled, side: str, replicas: str, broker: str) -> None:
    world.limit(side, replicas, broker)
    world.copy_to_2()
    world.pass_time(500)
    assert world.copied == world.size


@pytest.mark.parametrize("side", ["leader", "follower"])
@pytest.mark.parametrize("others", [True, False])
def test_a_limit_that_is_lifted_is_over_at_the_next_fetch(world: Throttled, side: str, others: bool) -> None:
    if not others:  # nothing else is fetched, so that nothing but time makes the follower look again
        world.delete_topic("t")
    world.limit(side, "*", "", "1")
    world.copy_to_2()
    world.pass_time(3000)
    assert world.copied <= PIECE
    world.limit(side, "*", "", None)
    world.pass_time(1500)
    assert world.copied == world.size


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_who_is_in_sync_is_not_held_back_but_counts(world: Throttled, side: str) -> None:
    world.copy_to_2()
    world.pass_time(1000)
    assert world.in_sync()
    world.limit(side, "*", "", "1")
    world.produce_to_u(20)
    world.pass_time(1000)
    assert world.copied == world.on(1, "u").log.segments[0].size > world.size
    assert world.in_sync()
    node = 1 if side == "leader" else 2
    replication = world.cluster.brokers[node].store.replication
    assert replication is not None
    assert getattr(replication.throttles, side).is_exceeded(replication.now_ms())


def test_a_topic_that_is_made_again_has_no_limit(world: Throttled) -> None:
    world.limit("leader", "*", "", "1")
    world.delete_topic("u")
    world.create(NewTopic("u", assignments=[(0, [1])]))
    world.turns()
    world.produce_to_u(20)
    world.copy_to_2()
    world.pass_time(500)
    assert world.in_sync()


def test_limits_are_there_after_a_restart(world: Throttled) -> None:
    world.limit("leader", "*", "", "1")
    world.limit("follower", "0:3", "3", "2")
    world.restart()
    of = {node: world.cluster.brokers[node].store.replication.throttles for node in (1, 2, 3)}  # type: ignore[union-attr]
    assert [each.leader.limit for each in of.values()] == [1, 1, 1]
    assert [of[node].follower.limit for node in (1, 3)] == [float("inf"), 2]
    assert [each.follower.is_throttled("u", 0) for each in of.values()] == [False, False, True]
    assert of[1].leader.is_throttled("u", 0)
