"""Shards of a coordinator: read when needed, refused to whom does not lead, dropped and read anew when leaders change."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.coordination.shard import Shard
from pykbroker.coordination.shards import Shards
from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError

TOPIC = "state"


class Counting(Shard):
    """It counts its records."""

    def __init__(self) -> None:
        self.count = 0

    def replay(self, record: CoordinatorRecord) -> None:
        self.count += 1


class Raw:
    """Records are what their bytes are."""

    @staticmethod
    def decode(key: bytes, value: bytes | None) -> CoordinatorRecord:
        return CoordinatorRecord(key, value, 0)


class Sharded:
    """Two brokers and a topic of one partition, which broker 1 leads."""

    def __init__(self, *, eager: bool) -> None:
        world = MemoryCluster(brokers=2)
        world.create(NewTopic(TOPIC, 1, 2))
        self.cluster, self.partition = world.cluster, world.partition(TOPIC)
        self.lifecycle = world.lifecycle
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
            self.lifecycle.stop(node_id)
        self.cluster.runtime.timers.run_due()

    def start(self, node_id: int) -> None:
        self.lifecycle.start(node_id)
        self.cluster.runtime.timers.run_due()


def refused(shards: Shards, broker) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        shards.at(broker, 0)
    return error.value.code


@pytest.mark.parametrize("eager", [True, False])
def test_a_shard_is_read_once_when_it_is_first_needed(eager: bool) -> None:
    sharded = Sharded(eager=eager)
    sharded.append()
    assert sharded.told == []
    loaded = sharded.shards.at(sharded.leader, 0)
    assert loaded is sharded.shards.at(None, 0)
    assert list(sharded.shards.led_by(sharded.leader)) == [loaded]
    assert sharded.told == ["opened 1"]
    assert sharded.shards.is_in_use(loaded)


def test_whoever_does_not_lead_is_no_coordinator() -> None:
    sharded = Sharded(eager=False)
    other = next(broker for broker in sharded.cluster.brokers.values() if broker is not sharded.leader)
    assert refused(sharded.shards, other) is ErrorCode.NOT_COORDINATOR
    assert list(sharded.shards.led_by(other)) == []
    sharded.stop(1, 2)
    assert refused(sharded.shards, None) is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("eager", [True, False])
def test_a_shard_in_use_is_read_again_for_a_new_leader(eager: bool) -> None:
    sharded = Sharded(eager=eager)
    loaded = sharded.shards.at(None, 0)
    sharded.append()
    sharded.stop(sharded.partition.leader)
    assert sharded.told == ["opened 0", "dropped 0", "opened 1"]
    assert not sharded.shards.is_in_use(loaded)


@pytest.mark.parametrize(("eager", "told"), [(True, ["opened 1"]), (False, [])])
def test_a_shard_nobody_asked_for_is_read_for_a_new_leader_only_if_it_cannot_wait(eager: bool, told: list[str]) -> None:
    sharded = Sharded(eager=eager)
    sharded.append()
    last = sharded.partition.leader
    sharded.stop(*(node_id for node_id in (1, 2) if node_id != last))
    assert sharded.told == []
    sharded.stop(last)
    assert sharded.told == [], "nobody leads, so nobody reads"
    sharded.start(last)
    assert sharded.told == told


def test_a_deleted_topic_takes_its_shards_along() -> None:
    sharded = Sharded(eager=True)
    sharded.shards.at(None, 0)
    sharded.cluster.metadata.delete_topics([sharded.partition.topic_id])
    assert sharded.told == ["opened 0", "dropped 0"]
    assert refused(sharded.shards, None) is ErrorCode.NOT_COORDINATOR


def test_what_many_partitions_had_is_told_in_one_line(caplog) -> None:
    caplog.set_level("INFO")
    sharded = Sharded(eager=False)
    for count in (0, 3, 0, 4):
        sharded.shards.tell_loaded(sharded.partition, "group", count)
    sharded.cluster.runtime.clock.advance(1000)
    sharded.cluster.runtime.timers.run_due()
    assert [record.message for record in caplog.records] == ["Loaded 7 group(s) from 2 partition(s) of state"]
