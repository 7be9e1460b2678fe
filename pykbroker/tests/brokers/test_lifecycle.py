"""Brokers that stop and start while the metadata log takes nothing, and what their followers do meanwhile."""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import pairwise

import pytest

from pykbroker.brokers.memory_peers import Passage
from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.internal_records import append_internal
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.brokers.test_replica_manager import OwnCopies
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import MOST, Counted
from pykbroker.wire.errors import ErrorCode, KafkaError

SESSION_MS = 9000
_METADATA = "__cluster_metadata"


@pytest.fixture
def world() -> OwnCopies:
    return OwnCopies()


def passages(world: OwnCopies, turns: int) -> list[Passage]:
    """What brokers say to each other in some turns, in which no time passes."""
    seen: list[Passage] = []
    peers = world.cluster.peers
    carry = peers.carry
    peers.carry = lambda passage: (seen.append(passage), carry(passage))
    world.turns(turns)
    peers.carry = carry
    return seen


def fenced(world: OwnCopies, broker: int) -> bool:
    return world.image.brokers[broker].fenced


def test_a_stop_that_cannot_begin_leaves_the_broker_as_it_was(world: OwnCopies) -> None:
    with world.full_disk():
        refused = world.lifecycle.begin_stop(1)
        world.turns()
        with pytest.raises(KafkaError) as raised:
            _ = refused.value
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not world.cluster.brokers[1].leaving
    assert world.leader == 1
    assert world.produced(b"a") == 0
    world.turns()
    assert len(passages(world, 40)) <= 2
    world.stop_broker(1)
    assert 1 not in world.cluster.brokers


def test_followers_wait_at_a_leader_that_leaves(world: OwnCopies) -> None:
    world.cluster.brokers[1].leaving = True  # the shutdown has begun, and the metadata not changed yet
    world.pass_time(1000)
    assert len(passages(world, 40)) <= 4


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_broker_that_ends_is_fenced_once_the_metadata_log_can_be_written(world: OwnCopies, abrupt: bool) -> None:
    if not abrupt:
        world.lifecycle.begin_stop(1)
        world.turns()
    with world.full_disk():
        ended = world.lifecycle.kill(1) if abrupt else world.lifecycle.stop(1)
        world.turns()
        assert ended.done
        assert ended.error is None
        assert 1 not in world.cluster.brokers
        world.pass_time(SESSION_MS * 2)  # tried again and again
    assert not fenced(world, 1)
    world.pass_time(SESSION_MS)
    assert fenced(world, 1)
    assert world.leader in (2, 3)
    assert world.produced(b"a") == 0
    world.start_broker(1)
    assert world.isr == [1, 2, 3]


def test_a_broker_that_started_again_is_not_fenced_for_its_earlier_end(world: OwnCopies) -> None:
    with world.full_disk():
        world.lifecycle.kill(1)
        world.turns()
        world.lifecycle.start(1)
        world.pass_time(SESSION_MS * 2)
        assert 1 not in world.cluster.brokers
    world.start_broker(1)
    world.pass_time(SESSION_MS * 2)
    assert not fenced(world, 1)
    assert world.isr == [1, 2, 3]
    assert world.produced(b"a") == 0


@pytest.mark.parametrize("killed", [True, False])
def test_a_start_that_is_refused_leaves_nothing(killed: bool, caplog: pytest.LogCaptureFixture) -> None:
    world = OwnCopies()
    assert world.produced(b"a") == 0
    world.kill_broker(2) if killed else world.stop_broker(2)
    for _ in range(3):
        world.disk.fail = lambda _, what: (
            OSError(errno.ENOSPC, "full") if _METADATA in what and "write" in what else None
        )
        refused = world.lifecycle.start(2)
        world.turns()
        assert isinstance(refused.error, KafkaError)
        world.disk.fail = None
    world.start_broker(2)
    assert world.isr == [1, 2, 3]
    assert world.produced(b"b") == 0
    world.kill_broker(1)
    world.start_broker(1)
    world.delete_topic("t")
    world.turns()
    assert [each for each in world.disk.list("/data/2") if each.startswith("t-") and not each.endswith("-delete")] == []
    assert not world.cluster.brokers[2].logs.directories.all[0].directory.offline
    assert [
        each.message for each in caplog.records if each.levelname == "ERROR" and _METADATA not in each.message
    ] == []


def test_no_turn_is_long_where_a_broker_of_many_replicas_stops_and_starts() -> None:
    """Its partitions change at all three brokers. What these say to each other then does not arrive: it is not looked at here."""
    world = Counted(brokers=3, own_stores=True)
    world.traced = False
    world.create(NewTopic("wide", 900, 3))
    for _ in range(200):
        world.run_turn()
    world.traced = True
    assert world.cluster.peers is not None
    world.cluster.peers.carry = lambda passage: None
    leaders = set()

    def follow(begin: Callable[[], Deferred[None]]) -> None:
        with world.turn():
            wait = begin()
        while not wait.done:
            world.run_turn()
            leaders.add(sum(partition.leader == 2 for partition in world.image.topics["wide"].in_order()))
        assert wait.error is None

    follow(lambda: world.lifecycle.begin_stop(2))
    follow(lambda: world.lifecycle.stop(2))
    assert len(leaders) > 2  # some lead elsewhere before others do
    follow(lambda: world.lifecycle.start(2))
    follow(lambda: world.lifecycle.kill(3))
    assert sum(partition.leader in (2, 3) for partition in world.image.topics["wide"].in_order()) == 0
    assert world.longest <= 1.5 * MOST


def test_a_broker_of_many_replicas_begins_to_follow_some_at_a_time() -> None:
    world = MemoryCluster(brokers=3, own_stores=True)
    world.create(NewTopic("wide", 900, 3))
    for _ in range(100):
        world.run_turn()
    world.stop_broker(2)
    replication = world.lifecycle._stopped[2].store.replication
    assert replication is not None
    world.lifecycle.start(2)
    followed = [0]
    for _ in range(300):
        world.run_turn()
        followed.append(len(replication._followed))
    assert followed[-1] == 900
    assert max(after - before for before, after in pairwise(followed)) < 400
    assert all(len(partition.isr) == 3 for partition in world.image.topics["wide"].in_order())


def test_a_broker_of_many_partitions_that_crashes_is_gone_at_once_and_starts_when_all_of_it_has_ended() -> None:
    """Its partitions end in slices, of which nobody sees a half."""
    world = OwnCopies()
    world.create(NewTopic("w", assignments=[(index, [1, 2, 3]) for index in range(60)]))
    world.pass_time(1000)
    for index in range(60):
        partition = world.cluster.partition("w", index)
        assert partition is not None
        append_internal(partition, [(None, b"a")], 1)
    world.pass_time(1000)
    cluster, store = world.cluster, world.cluster.brokers[2].store
    cluster.runtime.slices.weight_of_a_turn = 10
    killed = world.lifecycle.kill(2)
    while 2 in cluster.brokers:
        world.turns(1)
    assert not killed.done
    assert 0 < sum(partition.deleted for partition in store.partitions()) < 60
    assert store not in cluster.stores()
    started = world.lifecycle.start(2)
    assert not started.done
    world.pass_time(3000)
    assert started.done
    new = cluster.brokers[2].store
    assert all(partition.deleted for partition in store.partitions())
    for partition in new.partitions():
        assert new.logs.is_open(partition.log)
        assert partition.log.log_end_offset == (1 if partition.topic == "w" else 0)
    assert all(sorted(each.isr) == [1, 2, 3] for each in world.image.topics["w"].partitions.values())
