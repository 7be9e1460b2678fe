"""DescribeQuorum."""

from __future__ import annotations

import pytest

from pykbroker.metadata.ids import ZERO_ID
from pykbroker.tests.kit.cluster import START_MS
from pykbroker.wire.messages import describe_quorum as quorum


def describe(broker, *partitions, topic="__cluster_metadata", version=2):
    asked = [quorum.DescribeQuorumRequestPartitionData(index) for index in partitions]
    request = quorum.DescribeQuorumRequest([quorum.DescribeQuorumRequestTopicData(topic, asked)])
    return broker.ask(request, version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum(broker, version):
    answer = describe(broker, 0, version=version)
    (partition,) = answer.topics[0].partitions
    end = broker.controller.log.end_offset
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, end)
    at = START_MS if version else -1
    (directory,) = broker.image.brokers[2].log_dirs
    assert partition.current_voters == [quorum.ReplicaState(1, ZERO_ID, end, at, at)]
    assert partition.observers == [quorum.ReplicaState(2, directory if version == 2 else ZERO_ID, end, at, at)]
    assert [node.node_id for node in answer.nodes] == ([1] if version == 2 else [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_quorums_there_are_not(broker, version):
    for topic, partitions in (("__cluster_metadata", [1]), ("__cluster_metadata", [0, 1]), ("t", [0])):
        answer = describe(broker, *partitions, topic=topic, version=version)
        found = [(p.partition_index, p.error_code) for p in answer.topics[0].partitions]
        assert found == [(index, 3) for index in partitions]
