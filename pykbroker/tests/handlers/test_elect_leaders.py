"""ElectLeaders."""

from __future__ import annotations

import pytest

from pykbroker.tests.kit.metadata import registration
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions


def results(answer):
    return [
        (topic.topic, partition.partition_id, partition.error_code)
        for topic in answer.replica_election_results
        for partition in topic.partition_result
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_elections(broker, version):
    broker.controller.fence_broker(1)
    broker.controller.start_broker(registration(1))
    answer = broker.ask(ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0, 9])]), version)
    assert results(answer) == [("t", 0, 0), ("t", 9, 3)]
    assert answer.replica_election_results[0].partition_result[0].error_message is None
    assert [p.leader for p in broker.image.topic("t").in_order()] == [1, 2]
    everything = ElectLeadersRequest(topic_partitions=None)
    assert results(broker.ask(everything, version)) == [("t", 1, 0)]
    assert results(broker.ask(everything, version)) == []


def test_an_election_of_an_unknown_kind(broker):
    answer = broker.ask(ElectLeadersRequest(5, [TopicPartitions("t", [0])]), 2)
    assert (answer.error_code, results(answer)) == (42, [("t", 0, 42)])
