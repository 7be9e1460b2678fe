"""Produce at every version to a broker that does not lead the partition."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch


@pytest.fixture(scope="module")
def world() -> MemoryCluster:
    """Two brokers, of which broker 2 leads the only partition, since broker 1 was away for a while."""
    world = MemoryCluster(brokers=2)
    world.create(NewTopic("t", -1, -1, [(0, [1, 2])]))
    with world.without(1):
        pass
    return world


@pytest.mark.parametrize("version", range(3, 14))
def test_a_refusal_names_the_leader_where_the_version_can_say_it(world: MemoryCluster, version: int) -> None:
    batch = encode_batch([Record(offset=0, timestamp=0, key=None, value=b"v", headers=[])])
    data = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(name="t", topic_id=world.image.topics["t"].id, partition_data=[data])
    answer = world.ask(ProduceRequest(acks=-1, topic_data=[topic]), version, broker=1)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version < 10:
        assert answer.node_endpoints == []
    else:
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 1)
        assert [(node.node_id, node.host, node.port) for node in answer.node_endpoints] == [(2, "host2", 9002)]


def test_records_that_are_kept_for_later_turns_count_as_received() -> None:
    """Of a request with many partitions, and of one for which the transaction coordinator must be asked."""
    world = MemoryCluster(log_flush_interval_messages="1")
    world.topic("t", 600)
    memory = world.cluster.runtime.memory
    batch = encode_batch([Record(timestamp=world.clock.now_ms(), value=bytes(500))])
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index, batch) for index in range(600)])
    many = world.post(ProduceRequest(acks=0, timeout_ms=1000, topic_data=[data]), 9)
    held = []
    while not many.done:
        world.run_turn()
        held.append(memory.received.held)
    assert 600 * len(batch) in held
    assert held[-1] == 0
    producer = Producer(world, "id").started()
    sent = encode_batch(
        [Record(timestamp=world.clock.now_ms(), value=b"v")],
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        transactional=True,
    )
    threads = world.hold_threads()
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, sent)])
    waiting = world.post(ProduceRequest("id", -1, 1000, [data]), 12)
    world.settle()
    assert not waiting.done
    assert memory.received.held == len(sent)
    for _ in range(10):
        threads.run_all()
        world.run_turn()
    assert waiting.value.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert memory.used == 0
