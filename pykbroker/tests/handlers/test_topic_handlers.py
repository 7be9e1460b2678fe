"""CreateTopics, DeleteTopics, CreatePartitions: requests as a whole. The rules per topic: tests/metadata/test_topics.py."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

ZERO = bytes(16)


@pytest.fixture
def broker():
    broker = MemoryCluster(num_partitions="2")
    broker.controller.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
    return broker


def creatable(name, partitions=1, **configs):
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=n.replace("_", "."), value=v) for n, v in configs.items()],
    )


def outcomes(results):
    return sorted((r.name, r.error_code, r.error_message) for r in results)


@pytest.mark.parametrize("version", range(2, 8))
def test_create(broker, version):
    request = CreateTopicsRequest(topics=[creatable("n", 3, retention_ms="1000"), creatable("a")])
    n, a = broker.ask(request, version).topics
    assert (n.name, n.error_code, n.error_message) == ("n", 0, None)
    assert (a.error_code, a.error_message) == (ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'a' already exists.")
    assert len(broker.image.topic("n").partitions) == 3
    if version >= 5:
        assert (n.num_partitions, n.replication_factor, n.topic_config_error_code) == (3, 1, 0)
        configs = {c.name: (c.value, c.config_source, c.read_only, c.is_sensitive) for c in n.configs}
        assert configs["retention.ms"] == ("1000", 1, False, False)
        assert configs["cleanup.policy"] == ("delete", 5, False, False)
        assert [c.name for c in n.configs] == sorted(configs)
        assert (a.num_partitions, a.replication_factor, a.configs) == (-1, -1, [])
    assert n.topic_id == (broker.image.topic("n").id if version >= 7 else ZERO)


def test_names_given_twice_and_the_metadata_log(broker):
    request = CreateTopicsRequest(
        topics=[creatable("n"), creatable("n"), creatable("__cluster_metadata"), creatable("m")]
    )
    assert outcomes(broker.ask(request, 7).topics) == [
        (
            "__cluster_metadata",
            ErrorCode.INVALID_REQUEST,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
        ("m", 0, None),
        ("n", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert "n" not in broker.image.topics


def test_validate_only(broker):
    request = CreateTopicsRequest(topics=[creatable("n", 2)], validate_only=True)
    (n,) = broker.ask(request, 7).topics
    assert (n.error_code, n.num_partitions) == (0, 2)
    assert "n" not in broker.image.topics


def test_a_request_too_large_is_refused_as_a_whole(broker):
    request = CreateTopicsRequest(topics=[creatable("n", 9_999), creatable("m", 9_999)])
    assert outcomes(broker.ask(request, 7).topics) == [
        (name, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.") for name in ("m", "n")
    ]


@pytest.mark.parametrize("version", range(1, 6))
def test_delete_by_name(broker, version):
    response = broker.ask(DeleteTopicsRequest(topic_names=["a", "missing", "b", "b"]), version)
    told = version >= 5
    assert outcomes(response.responses) == [
        ("a", 0, None),
        ("b", ErrorCode.INVALID_REQUEST, "Duplicate topic name." if told else None),
        (
            "missing",
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic-partition." if told else None,
        ),
    ]
    assert set(broker.image.topics) == {"b", "c"}


def states(*topics):
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics])


def test_delete_by_name_or_id(broker):
    a, b, c = (broker.image.topic(name).id for name in "abc")
    request = states((None, a), ("b", ZERO), (None, b"?" * 16), (None, ZERO), ("c", c))
    found = {(r.name, r.topic_id): (r.error_code, r.error_message) for r in broker.ask(request, 6).responses}
    assert found == {
        ("a", a): (0, None),
        ("b", b): (0, None),
        (None, b"?" * 16): (ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."),
        (None, ZERO): (ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified."),
        ("c", c): (ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."),
    }
    assert set(broker.image.topics) == {"c"}


def test_one_topic_named_twice_in_different_ways_is_not_deleted(broker):
    a = broker.image.topic("a").id
    assert outcomes(broker.ask(states((None, a), ("a", ZERO)), 6).responses) == [
        ("a", ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
    ]
    (twice,) = broker.ask(states((None, a), (None, a)), 6).responses
    assert (twice.name, twice.error_code, twice.error_message) == (None, 42, "Duplicate topic id.")
    assert "a" in broker.image.topics


@pytest.mark.parametrize("version", range(1, 7))
def test_deletion_can_be_off(version):
    broker = MemoryCluster(delete_topic_enable="false")
    broker.controller.create_topics([NewTopic("a")])
    request = states(("a", ZERO)) if version >= 6 else DeleteTopicsRequest(topic_names=["a"])
    (result,) = broker.ask(request, version).responses
    assert result.error_code == (ErrorCode.INVALID_REQUEST if version < 3 else ErrorCode.TOPIC_DELETION_DISABLED)
    assert "a" in broker.image.topics


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
