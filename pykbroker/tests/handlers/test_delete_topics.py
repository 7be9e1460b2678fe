"""DeleteTopics: the request as a whole."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

ZERO = bytes(16)


@pytest.fixture
def broker():
    broker = MemoryCluster(num_partitions="2")
    broker.controller.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
    return broker


def outcomes(results):
    return sorted((r.name, r.error_code, r.error_message) for r in results)


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
