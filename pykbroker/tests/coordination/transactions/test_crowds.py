"""Transactional ids, late transactions and partitions of one in such numbers that one batch, or one turn, is not enough."""

from __future__ import annotations

import pytest

from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.metadata import alter
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode

MINUTE, DAY = 60_000, 86_400_000
MANY = 60


@pytest.fixture
def world() -> MemoryCluster:
    world = MemoryCluster(log_cleaner_enable="false", transaction_state_log_num_partitions="1")
    world.topic(partitions=1)
    return world


def transactions(world: MemoryCluster) -> dict:
    return world.broker.transactions.shards.loaded[0].shard.transactions


def late(world: MemoryCluster, count: int = MANY) -> list[Producer]:
    """Producers whose transactions are open, and over their time all at once; nothing was done about it yet."""
    producers = [Producer(world, f"tx-{number}", timeout_ms=MINUTE).started() for number in range(count)]
    for producer in producers:
        assert producer.send(producer.id.encode()) is ErrorCode.NONE
    world.clock.advance(2 * MINUTE)
    return producers


def states(world: MemoryCluster) -> list[TransactionState]:
    return [each.state for each in transactions(world).values()]


def test_transactional_ids_that_expire_together_need_no_batch_that_holds_them_all(world):
    for number in range(MANY):
        Producer(world, f"{number}-of-many").started()
    alter(world.cluster.controller, TOPIC_RESOURCE, TRANSACTION_STATE, max_message_bytes="500")
    world.advance(8 * DAY)
    world.settle()
    assert transactions(world) == {}
    world.restart(kill=True)
    world.run_turn()
    world.settle()
    assert transactions(world) == {}


def test_late_transactions_are_aborted_some_in_a_turn(world):
    late(world)
    world.cluster.runtime.slices.weight_of_a_turn = 100
    world.cluster.runtime.timers.run_due()
    before = states(world).count(TransactionState.ONGOING)
    in_a_turn = []
    while before:
        world.cluster.runtime.wake_queue.run()
        now = states(world).count(TransactionState.ONGOING)
        in_a_turn.append(before - now)
        assert now < before
        before = now
    assert max(in_a_turn) <= 10
    assert set(states(world)) == {TransactionState.COMPLETE_ABORT}
    assert world.read() == []


def test_a_producer_that_ends_its_late_transaction_between_two_slices(world):
    producers = late(world)
    world.cluster.runtime.slices.weight_of_a_turn = 1
    world.cluster.runtime.timers.run_due()
    world.cluster.runtime.wake_queue.run()
    ended = [producer.commit() for producer in producers[-3:]]
    assert ended == [ErrorCode.NONE] * 3
    for _ in range(MANY):
        world.advance(0)
    assert world.read() == [producer.id.encode() for producer in producers[-3:]]
    assert producers[0].commit() is not ErrorCode.NONE


def test_a_round_that_takes_long_is_not_overtaken_by_the_next(world):
    late(world)
    world.cluster.runtime.slices.weight_of_a_turn = 1
    for _ in range(5):
        world.clock.advance(MINUTE)
        world.cluster.runtime.timers.run_due()
        assert len(world.cluster.runtime.slices) <= 1
    world.cluster.runtime.slices.weight_of_a_turn = 1e9
    world.settle()
    assert set(states(world)) == {TransactionState.COMPLETE_ABORT}


def test_a_transaction_of_many_partitions_is_ended_some_in_a_turn(world):
    world.topic("wide", partitions=200)
    producer = Producer(world, "tx", protocol=1).started()
    assert producer.add("wide", *range(200)) is ErrorCode.NONE
    world.cluster.runtime.slices.weight_of_a_turn = 100
    assert producer.commit() is ErrorCode.NONE
    assert world.state("tx") == "PrepareCommit" or states(world) == [TransactionState.COMPLETE_COMMIT]
    for _ in range(200):
        world.advance(0)
    assert states(world) == [TransactionState.COMPLETE_COMMIT]
    assert [world.cluster.partition("wide", index).log_end_offset for index in range(200)] == [1] * 200


def test_a_kill_between_two_slices_of_markers(world):
    world.topic("wide", partitions=200)
    producer = Producer(world, "tx", protocol=1).started()
    assert producer.add("wide", *range(200)) is ErrorCode.NONE
    world.cluster.runtime.slices.weight_of_a_turn = 100
    request_world = world.cluster.partition("wide", 199)
    assert request_world.log_end_offset == 0
    world.settle, settle = lambda: None, world.settle
    producer.commit()
    world.settle = settle
    assert states(world) == [TransactionState.PREPARE_COMMIT]
    world.restart(kill=True)
    for _ in range(50):
        world.advance(100)
    assert states(world) == [TransactionState.COMPLETE_COMMIT]
    assert all(world.cluster.partition("wide", index).log_end_offset >= 1 for index in range(200))
