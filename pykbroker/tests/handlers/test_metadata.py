"""Metadata, as Apache Kafka 4.4.0 answers it. A topic that asking creates is there for who asks next."""

from __future__ import annotations

import pytest

from pykbroker.controller.registrations import BrokerRegistration
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.encoded_once import EncodedOnce
from pykbroker.metadata.image import Endpoint
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

ZERO = bytes(16)
NOT_ASKED = -(2**31)


@pytest.fixture
def broker():
    broker = MemoryCluster(3, num_partitions="2")
    broker.controller.create_topics(
        [NewTopic("a", 2, 2), NewTopic("b", -1, -1, [(0, [1, 2])]), NewTopic("c", -1, -1, [(0, [2])])]
    )
    return broker


def by_name(*names, **fields):
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, **fields)


def by_id(*ids):
    return MetadataRequest(topics=[MetadataRequestTopic(topic_id=i, name=None) for i in ids])


def named(response):
    return {topic.name: topic for topic in response.topics}


@pytest.mark.parametrize("version", range(14))
def test_all_topics_and_brokers(broker, version):
    response = broker.ask(MetadataRequest(topics=[] if version == 0 else None), version)
    assert set(named(response)) == {"a", "b", "c"}
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [(i, f"host{i}", 9000 + i) for i in (1, 2, 3)]
    if version >= 1:
        assert response.controller_id == 1
    if version >= 2:
        assert response.cluster_id == broker.cluster.logs.cluster_id
    b = named(response)["b"]
    assert b.topic_id == (broker.image.topic("b").id if version >= 10 else ZERO)
    assert [(p.leader_id, p.replica_nodes, p.isr_nodes) for p in b.partitions] == [(1, [1, 2], [1, 2])]
    assert b.partitions[0].leader_epoch == (0 if version >= 7 else -1)


def test_no_topics(broker):
    assert broker.ask(MetadataRequest(topics=[]), 1).topics == []


def test_each_topic_once_and_unknown_ones_as_errors(broker):
    response = broker.ask(
        by_name("a", "a", "missing", "bad name", "__consumer_offsets", "", allow_auto_topic_creation=False), 9
    )
    assert {t.name: (t.error_code, t.is_internal) for t in response.topics} == {
        "a": (0, False),
        "missing": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        "bad name": (ErrorCode.INVALID_TOPIC_EXCEPTION, False),
        "__consumer_offsets": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        "": (ErrorCode.INVALID_TOPIC_EXCEPTION, False),
    }
    assert len(response.topics) == 5


def test_by_id(broker):
    a = broker.image.topic("a").id
    response = broker.ask(by_id(a, b"?" * 16, a), 12)
    assert [(t.name, t.topic_id, t.error_code) for t in response.topics] == [
        ("a", a, 0),
        (None, b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


def test_ids_win_over_names(broker):
    request = by_name("b")
    request.topics.append(MetadataRequestTopic(topic_id=broker.image.topic("a").id, name=None))
    assert [t.name for t in broker.ask(request, 12).topics] == ["a"]


@pytest.mark.parametrize("version", [10, 11])
def test_ids_before_version_12_refuse_the_request(broker, version):
    topic_id = broker.image.topic("a").id
    response = broker.ask(by_id(topic_id), version)
    assert [(t.name, t.topic_id, t.error_code) for t in response.topics] == [("", topic_id, ErrorCode.INVALID_REQUEST)]
    assert response.brokers == []
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name="a")])
    assert broker.ask(request, version).topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_neither_name_nor_id(broker):
    response = broker.ask(by_id(ZERO), 13)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_creation_by_asking(broker):
    response = broker.ask(by_name("new", "a.b", "b b", "__cluster_metadata"), 9)
    topics = named(response)
    assert (topics["new"].error_code, topics["new"].partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    assert topics["b b"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert topics["__cluster_metadata"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {"new", "a.b"} <= set(broker.image.topics)
    assert "__cluster_metadata" not in broker.image.topics
    (new, twin) = broker.ask(by_name("new", "a_b"), 9).topics
    assert new.error_code == 0
    assert [p.leader_id >= 1 for p in new.partitions] == [True, True]
    assert twin.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "a_b" not in broker.image.topics


def test_creation_by_asking_can_be_off():
    broker = MemoryCluster(auto_create_topics_enable="false")
    response = broker.ask(by_name("new"), 9)
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.image.topics == {}


def test_authorized_operations(broker):
    request = by_name(
        "a",
        "missing",
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    response = broker.ask(request, 8)
    assert response.cluster_authorized_operations == 8096
    assert [t.topic_authorized_operations for t in response.topics] == [3576, 3576]
    response = broker.ask(by_name("a"), 8)
    assert response.cluster_authorized_operations == NOT_ASKED
    assert response.topics[0].topic_authorized_operations == NOT_ASKED


def test_a_broker_that_is_away(broker):
    broker.controller.fence_broker(2)
    response = broker.ask(by_name("b", "c"), 9)
    assert [b.node_id for b in response.brokers] == [1, 3]
    first, second = (t.partitions[0] for t in response.topics)
    assert (first.error_code, first.leader_id, first.replica_nodes, first.isr_nodes) == (0, 1, [1, 2], [1])
    assert first.offline_replicas == [2]
    assert (second.error_code, second.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


def test_version_0_counts_a_replica_that_is_away_as_an_error(broker):
    broker.controller.fence_broker(2)
    first, second = (t.partitions[0] for t in broker.ask(by_name("b", "c"), 0).topics)
    assert (first.error_code, first.replica_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1])
    assert (second.error_code, second.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)


def test_a_listener_the_leader_does_not_have(broker):
    for version, code in ((5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)):
        response = broker.ask(by_name("a"), version, listener="OTHER")
        assert response.brokers == []
        assert {p.error_code for p in response.topics[0].partitions} == {code}


def test_endpoints_are_those_of_the_listener():
    broker = MemoryCluster()
    endpoints = [Endpoint("IN", "in", 1), Endpoint("OUT", "out", 2)]
    broker.controller.start_brokers([BrokerRegistration(1, endpoints, [ZERO], "rack-1")])
    for listener, host in (("IN", "in"), ("OUT", "out")):
        (answered,) = broker.ask(MetadataRequest(topics=[]), 9, listener=listener).brokers
        assert (answered.host, answered.rack) == (host, "rack-1")


def test_the_same_question_is_encoded_once_until_something_changes(broker):
    answers = broker.controller.answers
    first = broker.ask(by_name("a"), 12)
    assert broker.ask(by_name("a"), 12) == first
    assert len(answers._kept) == 1
    assert broker.ask(by_name("a", include_topic_authorized_operations=True), 12) != first
    broker.controller.fence_broker(3)
    assert answers._kept == {}
    assert [b.node_id for b in broker.ask(by_name("a"), 12).brokers] == [1, 2]


def test_errors_are_not_kept_and_questions_are_bounded(broker):
    answers = broker.controller.answers
    broker.ask(by_name("a", "missing", allow_auto_topic_creation=False), 12)
    assert answers._kept == {}
    for version in range(14):
        broker.ask(by_name("a"), version)
    assert len(answers._kept) <= 8


def test_a_throttle_time_is_one_clients_own():
    shared = EncodedOnce.of(MetadataResponse(cluster_id="c"))
    mine, yours = shared.again(), shared.again()
    mine.throttle_time_ms = 7
    for answer, throttle in ((mine, 7), (yours, 0), (mine, 7)):
        out = bytearray()
        answer.encode(out, 12)
        assert MetadataResponse.decode(bytes(out), 0, 12)[0].throttle_time_ms == throttle


def test_a_request_with_an_id_and_the_name_of_another_topic_misleads_nobody(broker):
    """The id counts, as in Kafka, and whoever asks by that name afterwards gets the topic of that name."""
    a, b = broker.image.topic("a").id, broker.image.topic("b").id
    contradiction = MetadataRequest(topics=[MetadataRequestTopic(topic_id=a, name="b")])
    for _ in range(2):
        assert [(t.name, t.topic_id) for t in broker.ask(contradiction, 12).topics] == [("a", a)]
        assert [(t.name, t.topic_id) for t in broker.ask(by_name("b"), 12).topics] == [("b", b)]
