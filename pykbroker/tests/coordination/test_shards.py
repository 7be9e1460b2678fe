"""Shards of a coordinator: read when needed, refused to whom does not lead, dropped and read anew when leaders change."""

from __future__ import annotations

from functools import partial

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.coordination.shard import Shard
from pykbroker.coordination.shards import Loaded, Shards
from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError

TOPIC = "state"


class Counting(Shard):
    """It counts its records, and fails where ``fails`` has the name of what it is asked."""

    fails: str | None = None

    def __init__(self) -> None:
        self.count = 0

    def replay(self, record: CoordinatorRecord) -> None:
        self.fail("replay")
        self.count += 1

    @classmethod
    def fail(cls, asked: str) -> None:
        if asked == cls.fails:
            raise RuntimeError(asked)


@pytest.fixture(autouse=True)
def nothing_fails(monkeypatch) -> None:
    monkeypatch.setattr(Counting, "fails", None)


class Raw:
    """Records are what their bytes are."""

    @staticmethod
    def decode(key: bytes, value: bytes | None) -> CoordinatorRecord:
        return CoordinatorRecord(key, value, 0)


class Sharded:
    """Two brokers, each with the shards that it leads of a topic of one partition."""

    def __init__(self) -> None:
        world = MemoryCluster(brokers=2)
        world.create(NewTopic(TOPIC, 1, 2))
        self.cluster, self.partition = world.cluster, world.partition(TOPIC)
        self.lifecycle = world.lifecycle
        self.told: list[str] = []
        self.of = {node_id: self.shards_of(broker) for node_id, broker in world.cluster.brokers.items()}

    def shards_of(self, broker) -> Shards[Counting]:
        shards: Shards[Counting] = Shards(
            broker,
            TOPIC,
            begin=lambda partition: LogReplay(self.cluster.runtime, partition, Counting(), Raw()),
            opened=partial(self.tell, "opened"),
            dropped=partial(self.tell, "dropped"),
        )
        self.cluster.metadata.subscribe(lambda _, delta: shards.follow(delta))
        return shards

    def tell(self, what: str, loaded: Loaded[Counting]) -> None:
        Counting.fail(what)
        self.told.append(f"{what} {loaded.shard.count}")

    @property
    def shards(self) -> Shards[Counting]:
        """Those of the leader."""
        return self.of[self.partition.leader]

    def append(self) -> None:
        append_internal(self.partition, [(b"k", b"v")], self.cluster.runtime.clock.now_ms())

    def stop(self, *brokers: int) -> None:
        for node_id in brokers:
            self.lifecycle.stop(node_id)
        self.cluster.runtime.timers.run_due()

    def start(self, node_id: int) -> None:
        self.lifecycle.start(node_id)
        self.cluster.runtime.timers.run_due()


def refused(shards: Shards) -> ErrorCode:
    with pytest.raises(KafkaError) as error:
        shards.at(0)
    return error.value.code


def test_a_shard_is_read_once_when_it_is_first_needed() -> None:
    sharded = Sharded()
    sharded.append()
    assert sharded.told == []
    loaded = sharded.shards.at(0)
    assert loaded is sharded.shards.at(0)
    assert list(sharded.shards.led()) == [loaded]
    assert sharded.told == ["opened 1"]
    assert sharded.shards.is_in_use(loaded)


def test_whoever_does_not_lead_is_no_coordinator() -> None:
    sharded = Sharded()
    other = sharded.of[3 - sharded.partition.leader]
    assert refused(other) is ErrorCode.NOT_COORDINATOR
    assert list(other.led()) == []
    sharded.stop(1, 2)
    assert [refused(shards) for shards in sharded.of.values()] == [ErrorCode.NOT_COORDINATOR] * 2


def test_a_shard_moves_with_its_leader() -> None:
    sharded = Sharded()
    former, loaded = sharded.shards, sharded.shards.at(0)
    sharded.append()
    sharded.stop(sharded.partition.leader)
    assert sharded.told == ["opened 0", "dropped 0", "opened 1"]
    assert not former.is_in_use(loaded)
    assert sharded.shards is not former
    assert list(sharded.shards.loaded) == [0]


def test_a_shard_nobody_asked_for_is_read_when_its_leader_changes() -> None:
    """Members may wait in it for their sessions to end, and transactions for their timeouts."""
    sharded = Sharded()
    sharded.append()
    last = sharded.partition.leader
    sharded.stop(*(node_id for node_id in (1, 2) if node_id != last))
    assert sharded.told == []
    sharded.stop(last)
    assert sharded.told == [], "nobody leads, so nobody reads"
    sharded.start(last)
    assert sharded.told == ["opened 1"]


@pytest.mark.parametrize("fails", ["replay", "opened"])
def test_a_shard_that_fails_in_an_unforeseen_way_is_no_coordinator_until_it_has_another_leader(fails, caplog) -> None:
    """As Kafka's in state FAILED: clients that would wait for a loading that never ends look elsewhere, and what fails is
    not read again for each of them.
    """
    sharded = Sharded()
    sharded.append()
    Counting.fails = fails
    for _ in range(3):
        assert refused(sharded.shards) is ErrorCode.NOT_COORDINATOR
    assert caplog.text.count("Coordinator state in state-0 cannot be loaded: its requests are refused until") == 1
    Counting.fails = None
    assert refused(sharded.shards) is ErrorCode.NOT_COORDINATOR
    sharded.stop(sharded.partition.leader)
    assert sharded.told[-1] == "opened 1"


def test_a_log_that_cannot_be_looked_at_is_no_coordinators(monkeypatch) -> None:
    def unforeseen(_) -> None:
        raise RuntimeError("unforeseen")

    sharded = Sharded()
    monkeypatch.setattr(sharded.cluster.store.dormant, "bring_into_memory", unforeseen)
    sharded.shards.at(0)
    assert sharded.told == ["opened 0"], "where looking ahead fails, reading may not"


def test_a_shard_that_cannot_be_dropped_well_keeps_no_other(caplog) -> None:
    sharded = Sharded()
    sharded.shards.at(0)
    Counting.fails = "dropped"
    sharded.stop(sharded.partition.leader)
    assert sharded.told == ["opened 0", "opened 0"]
    assert "Coordinator state of state-0 is unloaded" in caplog.text


def test_a_deleted_topic_takes_its_shards_along() -> None:
    sharded = Sharded()
    sharded.shards.at(0)
    sharded.cluster.controller.delete_topics([sharded.partition.topic_id])
    assert sharded.told == ["opened 0", "dropped 0"]
    assert refused(sharded.shards) is ErrorCode.NOT_COORDINATOR


def test_what_many_partitions_had_is_told_in_one_line(caplog) -> None:
    caplog.set_level("INFO")
    sharded = Sharded()
    for count in (0, 3, 0, 4):
        sharded.shards.tell_loaded(sharded.partition, "group", count)
    sharded.cluster.runtime.clock.advance(1000)
    sharded.cluster.runtime.timers.run_due()
    assert [record.message for record in caplog.records] == ["Loaded 7 group(s) from 2 partition(s) of state"]
