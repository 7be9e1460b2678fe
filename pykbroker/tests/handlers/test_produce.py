"""Produce at every version to a broker that does not lead the partition."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pykbroker.handlers import produce
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

TOPIC_ID = b"\x01" * 16


def follower() -> SimpleNamespace:
    """Broker 2, which knows that broker 1 leads the only partition."""
    partition = SimpleNamespace(topic="t", index=0, leader=1, leader_epoch=3)
    leader = SimpleNamespace(node_id=1, host="one.example", port=9091, rack=None)
    cluster = SimpleNamespace(
        partition=lambda name, index: partition,
        partition_by_id=lambda topic_id, index: partition,
        nodes=lambda listener: [leader, SimpleNamespace(node_id=2, host="two.example", port=9092, rack=None)],
    )
    return SimpleNamespace(node_id=2, cluster=cluster)


@pytest.mark.parametrize("version", range(3, 14))
def test_a_refusal_names_the_leader_where_the_version_can_say_it(version: int) -> None:
    batch = encode_batch([Record(offset=0, timestamp=0, key=None, value=b"v", headers=[])])
    data = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", topic_id=TOPIC_ID, partition_data=[data])])
    context = RequestContext(0, version, 1, "client", "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS")
    out = bytearray()
    produce.handle(follower(), context, request).encode(out, version)
    answer, _ = ProduceResponse.decode(bytes(out), 0, version)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version < 10:
        assert answer.node_endpoints == []
    else:
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 3)
        assert [(node.node_id, node.host, node.port) for node in answer.node_endpoints] == [(1, "one.example", 9091)]
