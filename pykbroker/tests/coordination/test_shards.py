"""Shards of a coordinator: read when needed, refused to whom does not lead, dropped and read anew when leaders change."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.config.broker import BrokerConfig
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import Record
from pykbroker.coordination.shard import Shard
from pykbroker.coordination.shards import Shards
from pykbroker.metadata.image import Endpoint
from pykbroker.partitions.internal_records import append_internal
from pykbroker.runtime.clock import ManualClock
from pykbroker.simulation.simdisk import SimulatedDisk
from pykbroker.wire.errors import ErrorCode, KafkaError

TOPIC = "state"


class Counting(Shard):
    """It counts its records."""

    def __init__(self) -> None:
        self.count = 0

    def replay(self, record: Record) -> None:
        self.count += 1


class Raw:
    """Records are what their bytes are."""

    @staticmethod
    def decode(key: bytes, value: bytes | None) -> Record:
        return Record(key, value, 0)


class World:
    """Two brokers and a topic of one partition, which broker 1 leads."""

    def __init__(self, *, eager: bool) -> None:
        config = BrokerConfig({"default.replication.factor": "2", "num.partitions": "1"})
        self.cluster = Cluster.open(config, Path("/data"), SimulatedDisk(), ManualClock(), random.Random(3))
        self.cluster.start_brokers({i: [Endpoint("PLAINTEXT", "localhost", 9090 + i)] for i in (1, 2)})
        self.cluster.auto_creation.create([TOPIC])
        self.partition = self.cluster.partition(TOPIC, 0)
        self.told: list[str] = []
        self.shards: Shards[Counting] = Shards(
            self.cluster,
            TOPIC,
            begin=lambda partition: LogReplay(partition, Counting(), Raw()),
            opened=lambda loaded: self.told.append(f"opened {loaded.shard.count}"),
            dropped=lambda loaded: self.told.append(f"dropped {loaded.shard.count}"),
            eager=eager,
        )
        self.cluster.metadata.subscribe(lambda _, delta: self.shards.follow(delta))

    @property
    def leader(self):
        return self.cluster.brokers[self.partition.leader]

    def append(self) -> None:
        append_internal(self.partition, [(b"k", b"v")], self.cluster.runtime.clock.now_ms())

    def stop(self, *brokers: int) -> None:
        for node_id in brokers:
            self.cluster.stop_broker(node_id)
        self.cluster.runtime.timers.run_due()

    def start(self, node_id: int) -> None:
        self.cluster.start_broker(node_id)
        self.cluster.runtime.timers.run_due()


def refused(shards: Shards, broker) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        shards.at(broker, 0)
    return error.value.code


@pytest.mark.parametrize("eager", [True, False])
def test_a_shard_is_read_once_when_it_is_first_needed(eager: bool) -> None:
    world = World(eager=eager)
    world.append()
    assert world.told == []
    loaded = world.shards.at(world.leader, 0)
    assert loaded is world.shards.at(None, 0)
    assert list(world.shards.led_by(world.leader)) == [loaded]
    assert world.told == ["opened 1"]
    assert world.shards.is_in_use(loaded)


def test_whoever_does_not_lead_is_no_coordinator() -> None:
    world = World(eager=False)
    other = next(broker for broker in world.cluster.brokers.values() if broker is not world.leader)
    assert refused(world.shards, other) is ErrorCode.NOT_COORDINATOR
    assert list(world.shards.led_by(other)) == []
    world.stop(1, 2)
    assert refused(world.shards, None) is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("eager", [True, False])
def test_a_shard_in_use_is_read_again_for_a_new_leader(eager: bool) -> None:
    world = World(eager=eager)
    loaded = world.shards.at(None, 0)
    world.append()
    world.stop(world.partition.leader)
    assert world.told == ["opened 0", "dropped 0", "opened 1"]
    assert not world.shards.is_in_use(loaded)


@pytest.mark.parametrize(("eager", "told"), [(True, ["opened 1"]), (False, [])])
def test_a_shard_nobody_asked_for_is_read_for_a_new_leader_only_if_it_cannot_wait(eager: bool, told: list[str]) -> None:
    world = World(eager=eager)
    world.append()
    last = world.partition.leader
    world.stop(*(node_id for node_id in (1, 2) if node_id != last))
    assert world.told == []
    world.stop(last)
    assert world.told == [], "nobody leads, so nobody reads"
    world.start(last)
    assert world.told == told


def test_a_deleted_topic_takes_its_shards_along() -> None:
    world = World(eager=True)
    world.shards.at(None, 0)
    world.cluster.metadata.delete_topics([world.partition.topic_id])
    assert world.told == ["opened 0", "dropped 0"]
    assert refused(world.shards, None) is ErrorCode.NOT_COORDINATOR


def test_what_many_partitions_had_is_told_in_one_line(caplog) -> None:
    caplog.set_level("INFO")
    world = World(eager=False)
    for count in (0, 3, 0, 4):
        world.shards.tell_loaded(world.partition, "group", count)
    world.cluster.runtime.clock.advance(1000)
    world.cluster.runtime.timers.run_due()
    assert [record.message for record in caplog.records] == ["Loaded 7 group(s) from 2 partition(s) of state"]
