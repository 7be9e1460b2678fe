"""What nobody has used for long is forgotten: producer ids in the logs, transactional ids in their coordinator."""

from __future__ import annotations

import pytest

from pykbroker.process.housekeeping import Housekeeping
from pykbroker.tests.kit.cluster import TRANSACTION_KEY, MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
BROKERS = 4


@pytest.fixture
def world() -> MemoryCluster:
    world = MemoryCluster(log_cleaner_enable="false")
    world.topic(partitions=1)
    return world


def known(world: MemoryCluster) -> list[int]:
    """The producer ids that DescribeProducers names."""
    answer = world.ask(DescribeProducersRequest([TopicRequest("t", [0])]), 0).topics[0].partitions[0]
    return [each.producer_id for each in answer.active_producers]


def test_producer_ids_that_rest_are_forgotten(world):
    housekeeping = Housekeeping(world.cluster, durable=False)
    housekeeping.start()
    ended, open_one = Producer(world, "ended").started(), Producer(world, "open", timeout_ms=900_000).started()
    assert ended.send(b"x") is open_one.send(b"x") is ErrorCode.NONE
    assert ended.commit() is ErrorCode.NONE
    # No round may come between: the open transaction would be late.
    world.clock.advance(DAY - MINUTE)
    world.cluster.logs.forget_producers(world.clock.now_ms(), DAY)
    assert known(world) == [ended.producer_id, open_one.producer_id]
    world.clock.advance(MINUTE)
    world.cluster.logs.forget_producers(world.clock.now_ms(), DAY)
    assert known(world) == [open_one.producer_id]
    housekeeping.stop()


def test_the_time_after_which_producer_ids_are_forgotten_is_a_setting(world):
    housekeeping = Housekeeping(world.cluster, durable=False)
    housekeeping.start()
    producer = Producer(world, "tx").started()
    assert producer.send(b"x") is ErrorCode.NONE
    assert producer.commit() is ErrorCode.NONE
    world.advance(10 * MINUTE)
    assert known(world) == [producer.producer_id]
    changes = [AlterableConfig("producer.id.expiration.ms", 0, str(20 * MINUTE))]
    answer = world.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(BROKERS, "", changes)]), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE
    world.advance(9 * MINUTE)
    assert known(world) == [producer.producer_id]
    world.advance(MINUTE)
    assert known(world) == []
    # What it has to say is accepted all the same: its sequence begins anew with its epoch.
    assert producer.send(b"y") is ErrorCode.NONE
    assert producer.commit() is ErrorCode.NONE
    assert world.read() == [b"x", b"y"]
    housekeeping.stop()


def test_transactional_ids_that_rest_are_forgotten_with_a_tombstone(world):
    producer = Producer(world, "tx").started()
    assert producer.send(b"x") is ErrorCode.NONE
    assert producer.commit() is ErrorCode.NONE
    for _ in range(7 * 24 - 1):
        world.advance(HOUR)
    assert world.state("tx") == "CompleteCommit"
    world.advance(HOUR)
    world.advance(HOUR)
    coordinator = world.broker.transactions
    assert coordinator.shards.loaded[coordinator.partition_of("tx")].shard.transactions == {}
    world.restart(kill=True)
    assert producer.init(recover=True) is ErrorCode.NONE  # as if it were new
    assert producer.epoch == 0


@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [
        (0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (-1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (1, ErrorCode.NONE),
        (900_000, ErrorCode.NONE),
        (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_time_limits_that_are_refused(world, timeout_ms, code):
    world.coordinator("tx", TRANSACTION_KEY)
    assert Producer(world, "tx", timeout_ms=timeout_ms).init() is code
