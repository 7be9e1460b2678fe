"""CreatePartitions: the request as a whole."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic


@pytest.fixture
def broker():
    broker = MemoryCluster(num_partitions="2")
    broker.controller.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
    return broker


def outcomes(results):
    return sorted((r.name, r.error_code, r.error_message) for r in results)


@pytest.mark.parametrize("version", range(4))
def test_more_partitions(broker, version):
    wanted = [("a", 4), ("b", 1), ("c", 3), ("c", 3), ("missing", 2)]
    topics = [CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in wanted]
    response = broker.ask(CreatePartitionsRequest(topics=topics), version)
    assert outcomes(response.results) == [
        ("a", 0, None),
        (
            "b",
            ErrorCode.INVALID_PARTITIONS,
            "The topic b currently has 2 partition(s); 1 would not be an increase.",
        ),
        ("c", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
    ]
    assert len(broker.image.topic("a").partitions) == 4


def test_more_partitions_validate_only(broker):
    topic = CreatePartitionsTopic(name="a", count=9, assignments=None)
    response = broker.ask(CreatePartitionsRequest(topics=[topic], validate_only=True), 3)
    assert outcomes(response.results) == [("a", 0, None)]
    assert len(broker.image.topic("a").partitions) == 2


def test_too_many_more_partitions_in_one_request(broker):
    topics = [CreatePartitionsTopic(name=name, count=5003, assignments=None) for name in ("a", "b")]
    response = broker.ask(CreatePartitionsRequest(topics=topics), 3)
    refused = (ErrorCode.POLICY_VIOLATION, "Excessively large number of additional partitions per request.")
    assert outcomes(response.results) == [("a", *refused), ("b", *refused)]
