"""A log directory that three brokers shared is divided: nothing is lost, at whatever operation of the disk the process dies."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.division import PLAN, NotDivisibleError, divide
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.storage.support import contents
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from pykbroker.worlds.disk import ProcessDied

TOPICS = ("a", "b", "c", "alone")


class Shared(MemoryCluster):
    """Three topics of factor 3, each with its first replica elsewhere, and one on broker 2 alone."""

    def __init__(self) -> None:
        super().__init__(brokers=3, offsets_topic_replication_factor="3", min_insync_replicas="2")
        assignments = {"a": [1, 2, 3], "b": [2, 3, 1], "c": [3, 1, 2], "alone": [2]}
        self.create(*(NewTopic(name, assignments=[(0, replicas)]) for name, replicas in assignments.items()))
        for name in TOPICS:
            for number in range(3):
                self.produce(name, b"%s%d" % (name.encode(), number))

    def produce(self, topic: str, value: bytes) -> None:
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, encode_batch([Record(value=value)]))])]
        leader = self.image.topics[topic].partitions[0].leader
        answer = self.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), 9, broker=leader)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def divide(self, ids: tuple[int, ...] = (1, 2, 3)) -> None:
        def open_shared() -> Cluster:
            return Cluster.open(BrokerConfig(self.settings), Path("/data"), self.disk, self.clock, self.random)

        divide("/data", ids, self.disk, random.Random(3), open_shared)

    def go_on_with_copies(self) -> None:
        self.own_stores = True
        self.start()
        for _ in range(12):
            self.clock.advance(500)
            for _ in range(20):
                self.run_turn()

    def check(self) -> None:
        for name in TOPICS:
            values = [b"%s%d" % (name.encode(), number) for number in range(3)]
            assert self.read(name) == values
            state = self.image.topics[name].partitions[0]
            assert sorted(state.isr) == sorted(state.replicas)
            for replica in state.replicas:
                partition = self.cluster.brokers[replica].store.partition(name, 0)
                assert partition is not None
                assert [value for _, value in contents(partition.log)] == values


@pytest.mark.parametrize("kill", [False, True])
def test_each_partition_goes_to_its_first_replica_and_the_others_copy_it(kill: bool) -> None:
    world = Shared()
    if not kill:
        world.cluster.shutdown()
    world.divide()
    for broker, own in (("1", "a"), ("2", "b"), ("3", "c")):
        there = world.disk.list(f"/data/{broker}")
        assert {name for name in there if name in ("a-0", "b-0", "c-0")} == {f"{own}-0"}
    assert sorted(world.disk.list("/data")) == ["1", "2", "3"]
    world.go_on_with_copies()
    world.check()
    world.produce("a", b"later")


def test_what_is_divided_or_new_is_left_as_it_is() -> None:
    world = Shared()
    world.cluster.shutdown()
    world.divide()
    before = copy.deepcopy(world.disk)
    world.divide()
    assert world.disk.list("/data/1") == before.list("/data/1")


def test_a_partition_of_none_of_the_brokers_is_told_before_anything_changes() -> None:
    world = Shared()
    world.cluster.shutdown()
    with pytest.raises(NotDivisibleError, match="alone-0 has replicas on brokers 2 only"):
        world.divide((1, 3))
    assert "meta.properties" in world.disk.list("/data")
    assert PLAN not in world.disk.list("/data")


@pytest.mark.parametrize("power_loss", [False, True])
def test_the_next_start_completes_what_a_crash_interrupted(power_loss: bool) -> None:
    stopped = Shared()
    stopped.cluster.shutdown()
    disk = stopped.disk
    operations = 0

    def count(_: object, operation: str) -> None:
        nonlocal operations
        operations += 1

    stopped.disk = copy.deepcopy(disk)
    stopped.disk.fail = count
    stopped.divide()
    step = max(1, operations // examples(16))
    for number in range(1, operations, step):
        stopped.disk = copy.deepcopy(disk)
        left = number

        def die(_: object, operation: str) -> Exception | None:
            nonlocal left
            left -= 1
            return ProcessDied() if left == 0 else None

        stopped.disk.fail = die
        with pytest.raises(ProcessDied):
            stopped.divide()
        stopped.disk.fail = None
        if power_loss:
            stopped.disk.crash(random.Random(number))
        stopped.own_stores = False
        stopped.divide()
        stopped.go_on_with_copies()
        stopped.check()
