"""CreateTopics: the request as a whole. The rules per topic: tests/controller/test_topics.py."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

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
