"""A large partition of ``__transaction_state`` is replayed bit by bit, and everybody else is served meanwhile."""

from __future__ import annotations

import pytest

from pykbroker.coordination import log_replay
from pykbroker.coordination.transactions.ending import end_transaction
from pykbroker.coordination.transactions.records import encode, record
from pykbroker.coordination.transactions.transaction import Transaction
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
IDS = 11


@pytest.fixture
def world(monkeypatch) -> MemoryCluster:
    """A restarted cluster whose transactional ids take several turns to replay, one of them in the middle of a commit."""
    monkeypatch.setattr(log_replay, "REPLAYED_AT_ONCE", 1)  # each request of this kit runs some turns, too
    world = MemoryCluster(transaction_state_log_num_partitions="1")
    world.topic()
    writer = Producer(world, "prepared").started()
    assert writer.send(b"kept") is ErrorCode.NONE
    shard = world.broker.transactions.shards.loaded[0].shard
    partition = world.cluster.partition(TRANSACTION_STATE, 0)
    now_ms = world.clock.now_ms()
    prepared = end_transaction(
        shard.transactions["prepared"],
        writer.producer_id,
        writer.epoch,
        commit=True,
        client_version=2,
        new_producer_id=lambda: 99,
        now_ms=now_ms,
    )
    others = [Transaction(transactional_id=f"id-{n}", producer_id=10_000 + n, timeout_ms=1) for n in range(IDS)]
    for each in [prepared, *others]:
        append_internal(partition, [encode(record(each, 2))], now_ms)
    # As ``restart``, but the timer that begins to load is left to the test.
    advance, world.advance = world.advance, lambda _: None
    world.start()
    world.advance = advance
    return world


def test_a_large_partition_is_loaded_bit_by_bit(world):
    young = Producer(world, "young")
    assert young.init() is LOADING
    assert world.ask(ListTransactionsRequest(), 2).error_code == LOADING
    described = world.ask(DescribeTransactionsRequest(["id-1"]), 0).transaction_states[0]
    assert described.error_code == LOADING
    assert world.read() == []
    world.settle()
    assert young.init() is ErrorCode.NONE
    assert len(world.ask(ListTransactionsRequest(), 2).transaction_states) == IDS + 2
    assert world.read() == [b"kept"]


def test_what_was_open_ends_though_nobody_asks(world):
    for _ in range(20):
        world.advance(20)
    assert world.read() == [b"kept"]


def test_a_produce_to_a_transaction_that_is_not_loaded_is_repeated(world):
    producer = Producer(world, "id-7", protocol=2)
    producer.producer_id, producer.epoch = 10_007, 0
    assert producer.write(b"x") is ErrorCode.NOT_ENOUGH_REPLICAS
    producer.protocol = 1
    assert producer.write(b"x") is ErrorCode.NOT_ENOUGH_REPLICAS


def test_the_topic_goes_while_it_is_loaded(world):
    assert Producer(world, "young").init() is LOADING
    world.cluster.controller.delete_topics([world.cluster.metadata.image.topics[TRANSACTION_STATE].id])
    world.advance(0)
    Producer(world, "young").started()
    assert world.state("young") == "Empty"
