"""A further kind of coordinator is a class and a row: here one whose keys are words, each with the number of its mentions."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination import coordinators
from pykbroker.coordination.coordinators import CoordinatorKind
from pykbroker.coordination.outcome import CoordinatorRecord, Decision, Outcome
from pykbroker.coordination.runtime import CoordinatorRuntime
from pykbroker.coordination.shard import Shard
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError

WORDS = CoordinatorKind(
    SHARE_GROUP_STATE,
    key_type=2,
    found_since=6,
    module=__name__,
    class_name="WordCoordinator",
    partitions="share.coordinator.state.topic.num.partitions",
    loads_at_start=True,
)


class Words(Shard):
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def keys(self):
        return self.counts

    def replay(self, record: CoordinatorRecord) -> None:
        self.counts[record.key] = record.value

    def mention(self, word: str) -> Decision[int]:
        count = self.counts.get(word, 0) + 1
        return Decision(count, Outcome([CoordinatorRecord(word, count, 0)]))

    def count(self, word: str) -> int:
        return self.counts.get(word, 0)


class Codec:
    @staticmethod
    def encode(record: CoordinatorRecord) -> tuple[bytes, bytes]:
        return record.key.encode(), b"%d" % record.value

    @staticmethod
    def decode(key: bytes, value: bytes | None) -> CoordinatorRecord:
        return CoordinatorRecord(key.decode(), int(value or 0), 0)

    @staticmethod
    def owner_of(record: CoordinatorRecord) -> str:
        return record.key


class WordCoordinator:
    def __init__(self, host) -> None:
        runtime = CoordinatorRuntime(host, SHARE_GROUP_STATE, 2, codec=Codec, new_shard=Words, opened=lambda _: None)
        self.ask, self.ask_each, self.shards = runtime.ask, runtime.ask_each, runtime.shards
        self.load_all, self.follow, self.close = runtime.load_all, runtime.follow, runtime.close


@pytest.fixture
def world(monkeypatch) -> MemoryCluster:
    monkeypatch.setattr(coordinators, "KINDS", (*coordinators.KINDS, WORDS))
    world = MemoryCluster(brokers=2)
    world.create(NewTopic(SHARE_GROUP_STATE, 2, 2))
    return world


def of(world: MemoryCluster, word: str):
    """The coordinator of a word."""
    index = WORDS.partition_of(word, world.image, world.broker.config)
    return world.cluster.brokers[world.partition(SHARE_GROUP_STATE, index).leader].coordinators[WORDS]


def test_it_is_asked_by_the_broker_that_leads_the_partition_of_a_key(world) -> None:
    assert of(world, "moon").ask("moon", Words.mention, "moon") == 1
    assert of(world, "moon").ask("moon", Words.mention, "moon") == 2
    others = [each.coordinators[WORDS] for each in world.cluster.brokers.values()]
    others.remove(of(world, "moon"))
    with pytest.raises(KafkaError) as refused:
        others[0].ask("moon", Words.count, "moon")
    assert refused.value.code is ErrorCode.NOT_COORDINATOR


def test_it_is_loaded_at_the_start_and_when_its_leader_stops(world) -> None:
    of(world, "moon").ask("moon", Words.mention, "moon")
    world.restart(kill=True)
    for _ in range(5):
        world.advance(20)
    loaded = [each.coordinators.created[WORDS.topic].shards.loaded for each in world.cluster.brokers.values()]
    assert sorted(index for each in loaded for index in each) == [0, 1], (
        "each partition by its leader, without a request"
    )
    index = WORDS.partition_of("moon", world.image, world.broker.config)
    world.stop_broker(world.partition(SHARE_GROUP_STATE, index).leader)
    assert index in of(world, "moon").shards.loaded
    assert of(world, "moon").ask("moon", Words.count, "moon") == 1


def test_the_coordinators_of_a_broker_that_stopped_end(world) -> None:
    coordinator = of(world, "moon")
    coordinator.ask("moon", Words.mention, "moon")
    (stopped,) = (each for each in world.cluster.brokers.values() if coordinator in each.coordinators.created.values())
    world.stop_broker(stopped.node_id)
    assert coordinator.shards.loaded == {}
    assert stopped.coordinators.created == {}
