"""Administration as clients see it: elections, reassignments, log directories, quotas, credentials, features, the quorum."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.handlers import (
    alter_client_quotas,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_quorum,
    describe_user_scram_credentials,
    elect_leaders,
    list_partition_reassignments,
    unregister_broker,
    update_features,
)
from pykbroker.metadata.ids import ZERO_ID
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.handlers.cluster_stub import StubBroker
from pykbroker.tests.metadata.fake import LOG_DIR, registration
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.messages import alter_client_quotas as quotas
from pykbroker.wire.messages import alter_partition_reassignments as reassigning
from pykbroker.wire.messages import alter_user_scram_credentials as scram
from pykbroker.wire.messages import describe_quorum as quorum
from pykbroker.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pykbroker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

NOW_MS = 1_700_000_000_000
RATE = "producer_byte_rate"


@pytest.fixture
def broker():
    """Broker 1 of two, with a topic of two partitions that both prefer broker 1."""
    broker = StubBroker(2)
    broker.controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2]), (1, [1, 2])])])
    broker.node_id = 1
    broker.cluster.runtime = Runtime(ManualClock(now_ms=NOW_MS), random.Random(7))
    broker.cluster.logs = SimpleNamespace(metadata_directory=SimpleNamespace(path="/data", offline=False))
    broker.cluster.partition = broker.image.partition
    return broker


def fail_appends(broker):
    broker.controller.log.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)


# ---- Elections


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
    answer = broker.ask(elect_leaders, ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0, 9])]), version)
    assert results(answer) == [("t", 0, 0), ("t", 9, 3)]
    assert answer.replica_election_results[0].partition_result[0].error_message is None
    assert [p.leader for p in broker.image.topic("t").in_order()] == [1, 2]
    everything = ElectLeadersRequest(topic_partitions=None)
    assert results(broker.ask(elect_leaders, everything, version)) == [("t", 1, 0)]
    assert results(broker.ask(elect_leaders, everything, version)) == []


def test_an_election_of_an_unknown_kind(broker):
    answer = broker.ask(elect_leaders, ElectLeadersRequest(5, [TopicPartitions("t", [0])]), 2)
    assert (answer.error_code, results(answer)) == (42, [("t", 0, 42)])


# ---- Reassignments


def reassign(broker, *partitions, version=1, **options):
    """(index, replicas) pairs; the codes of the answer."""
    topic = reassigning.ReassignableTopic("t", [reassigning.ReassignablePartition(*each) for each in partitions])
    request = reassigning.AlterPartitionReassignmentsRequest(topics=[topic], **options)
    answer = broker.ask(alter_partition_reassignments, request, version)
    return [partition.error_code for topic in answer.responses for partition in topic.partitions]


def ongoing(broker, topics=None):
    answer = broker.ask(list_partition_reassignments, ListPartitionReassignmentsRequest(topics=topics), 0)
    return [
        (topic.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in answer.topics
        for p in topic.partitions
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_reassignments(broker, version):
    assert reassign(broker, (0, [2]), (1, [2, 1]), (9, [1]), version=version) == [0, 0, 3]
    assert [p.replicas for p in broker.image.topic("t").in_order()] == [[2], [2, 1]]
    assert ongoing(broker) == []


def test_a_partition_named_twice_goes_where_it_was_told_last(broker):
    assert reassign(broker, (0, [2]), (0, [1])) == [0, 0]
    partition = broker.image.partition("t", 0)
    assert (partition.replicas, partition.isr, partition.leader) == ([1], [1], 1)


def test_the_replication_factor_may_be_held(broker):
    assert reassign(broker, (0, [2]), (1, [2, 1]), allow_replication_factor_change=False) == [38, 0]


def test_what_waits_for_a_stopped_broker_is_listed_and_can_be_taken_back(broker):
    reassign(broker, (0, [1]), (1, [1]))
    broker.controller.fence_broker(2)
    assert reassign(broker, (0, [2]), (1, [2])) == [0, 0]
    assert ongoing(broker) == [("t", 0, [2, 1], [2], [1]), ("t", 1, [2, 1], [2], [1])]
    assert [index for _, index, *_ in ongoing(broker, [ListPartitionReassignmentsTopics("t", [1, 9])])] == [1]
    assert ongoing(broker, []) == ongoing(broker, [ListPartitionReassignmentsTopics("x", [0])]) == []
    assert reassign(broker, (0, None), (0, None)) == [0, 85]
    assert [index for _, index, *_ in ongoing(broker)] == [1]


def test_a_log_that_cannot_be_written_refuses_every_partition(broker):
    fail_appends(broker)
    assert reassign(broker, (0, [2]), (1, [1, 2])) == [56, 56]


# ---- Quotas


def set_quota(broker, key=RATE, value=8.0, *, remove=False, validate_only=False, **entity):
    parts = [quotas.EntityData(kind.replace("_", "-"), name) for kind, name in entity.items()]
    entry = quotas.AlterClientQuotasRequestEntryData(parts, [quotas.OpData(key, value, remove)])
    (result,) = broker.ask(alter_client_quotas, quotas.AlterClientQuotasRequest([entry], validate_only), 1).entries
    assert sorted((p.entity_type, p.entity_name) for p in result.entity) == sorted(
        (p.entity_type, p.entity_name) for p in parts
    )
    return result.error_code, result.error_message


def find(broker, *components, version=1):
    request = DescribeClientQuotasRequest([ComponentData(*component) for component in components])
    return broker.ask(describe_client_quotas, request, version)


def test_quotas(broker):
    assert set_quota(broker, user="u", client_id=None) == (0, None)
    assert set_quota(broker, user="v", validate_only=True) == (0, None)
    assert set_quota(broker, "no_such_rate", user="u") == (42, "Invalid configuration key no_such_rate")
    for version in (0, 1):
        (entry,) = find(broker, version=version).entries
        assert [(part.entity_type, part.entity_name) for part in entry.entity] == [("client-id", None), ("user", "u")]
        assert [(value.key, value.value) for value in entry.values] == [(RATE, 8.0)]
    assert set_quota(broker, remove=True, user="u", client_id=None) == (0, None)
    assert find(broker).entries == []


def test_a_filter_that_means_nothing(broker):
    answer = find(broker, ("group", 0, "g"))
    assert (answer.error_code, answer.error_message, answer.entries) == (35, "Unsupported entity type group", None)


def test_hosts_are_looked_up_elsewhere(broker):
    searches = []

    def offload(function, *arguments):
        searches.append((function, arguments, Deferred()))
        return searches[-1][2]

    broker.cluster.runtime.offload = offload
    rate = "connection_creation_rate"
    entries = [
        quotas.AlterClientQuotasRequestEntryData([quotas.EntityData("ip", name)], [quotas.OpData(rate, 1.0, False)])
        for name in ("10.0.0.1", "there", "nowhere", None)
    ]
    answer = alter_client_quotas.handle(broker, None, quotas.AlterClientQuotasRequest(entries, False))
    ((_, (names,), search),) = searches
    assert names == {"there", "nowhere"}
    assert not answer.done
    search.complete(frozenset({"nowhere"}))
    assert [entry.error_code for entry in answer.value.entries] == [0, 0, 42, 0]
    assert len(broker.image.client_quotas) == 3


def test_a_quota_of_a_host_that_cannot_be_kept(broker):
    fail_appends(broker)
    entity = [quotas.EntityData("ip", "localhost")]
    ops = [quotas.OpData("connection_creation_rate", 1.0, False)]
    request = quotas.AlterClientQuotasRequest([quotas.AlterClientQuotasRequestEntryData(entity, ops)], False)
    answer = alter_client_quotas.handle(broker, None, request)
    with pytest.raises(KafkaError):
        _ = answer.value
    assert set_quota(broker, user="u")[0] == ErrorCode.KAFKA_STORAGE_ERROR


# ---- Credentials


def test_credentials(broker):
    wanted = [scram.ScramCredentialUpsertion(user, 1, 4096, b"salt", b"salted") for user in ("a", "b", "b")]
    request = scram.AlterUserScramCredentialsRequest([scram.ScramCredentialDeletion("c", 2)], wanted)
    answer = broker.ask(alter_user_scram_credentials, request, 0)
    assert {r.user: (r.error_code, r.error_message) for r in answer.results} == {
        "a": (0, None),
        "b": (92, "A user credential cannot be altered twice in the same request"),
        "c": (91, "Attempt to delete a user credential that does not exist"),
    }
    asked = DescribeUserScramCredentialsRequest([UserName("a"), UserName("b")])
    found = broker.ask(describe_user_scram_credentials, asked, 0).results
    assert [(r.user, r.error_code, [(i.mechanism, i.iterations) for i in r.credential_infos]) for r in found] == [
        ("a", 0, [(1, 4096)]),
        ("b", 91, []),
    ]
    everybody = broker.ask(describe_user_scram_credentials, DescribeUserScramCredentialsRequest(None), 0)
    assert [result.user for result in everybody.results] == ["a"]


def test_credentials_that_cannot_be_kept(broker):
    fail_appends(broker)
    wanted = [scram.ScramCredentialUpsertion("a", 1, 4096, b"salt", b"salted")]
    answer = broker.ask(alter_user_scram_credentials, scram.AlterUserScramCredentialsRequest([], wanted), 0)
    assert [(result.user, result.error_code) for result in answer.results] == [("a", 56)]
    assert broker.image.scram == {}


# ---- Features, brokers, the quorum


def update(broker, *features, version, validate_only=False):
    updates = [FeatureUpdateKey(*feature) for feature in features]
    return broker.ask(update_features, UpdateFeaturesRequest(60000, updates, validate_only), version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_features(broker, version):
    broker.controller.commit([FeatureLevelRecord("metadata.version", 30)])
    answer = update(broker, ("group.version", 1), version=version)
    told = [("group.version", 0, "NONE")] if version < 2 else []
    assert [(r.feature, r.error_code, r.error_message) for r in answer.results] == told
    assert (answer.error_code, answer.error_message) == (0, None)
    assert broker.image.features["group.version"] == 1
    refused = update(broker, ("group.version", 0), version=version)
    assert (refused.error_code, refused.results) == (95, [])
    assert refused.error_message.startswith(
        "The update failed for all features since the following feature had an error: "
        "Invalid update version 0 for feature group.version."
    )


def test_a_feature_update_that_is_only_validated(broker):
    broker.controller.commit([FeatureLevelRecord("metadata.version", 30)])
    assert update(broker, ("group.version", 1), version=1, validate_only=True).error_code == 0
    assert "group.version" not in broker.image.features


def test_a_broker_is_forgotten(broker):
    answer = broker.ask(unregister_broker, UnregisterBrokerRequest(2), 0)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert list(broker.image.brokers) == [1]
    answer = broker.ask(unregister_broker, UnregisterBrokerRequest(2), 0)
    assert (answer.error_code, answer.error_message) == (102, "Broker ID 2 is not currently registered")
    with pytest.raises(KafkaError, match="BROKER_ID_NOT_REGISTERED"):
        _ = broker.controller.allocate_producer_ids(2).value


def describe(broker, *partitions, topic="__cluster_metadata", version=2):
    asked = [quorum.DescribeQuorumRequestPartitionData(index) for index in partitions]
    request = quorum.DescribeQuorumRequest([quorum.DescribeQuorumRequestTopicData(topic, asked)])
    return broker.ask(describe_quorum, request, version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum(broker, version):
    answer = describe(broker, 0, version=version)
    (partition,) = answer.topics[0].partitions
    end = broker.controller.log.end_offset
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, end)
    at = NOW_MS if version else -1
    assert partition.current_voters == [quorum.ReplicaState(1, ZERO_ID, end, at, at)]
    assert partition.observers == [quorum.ReplicaState(2, LOG_DIR if version == 2 else ZERO_ID, end, at, at)]
    assert [node.node_id for node in answer.nodes] == ([1] if version == 2 else [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_quorums_there_are_not(broker, version):
    for topic, partitions in (("__cluster_metadata", [1]), ("__cluster_metadata", [0, 1]), ("t", [0])):
        answer = describe(broker, *partitions, topic=topic, version=version)
        found = [(p.partition_index, p.error_code) for p in answer.topics[0].partitions]
        assert found == [(index, 3) for index in partitions]
