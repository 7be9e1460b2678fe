"""A test's broker that is taken for an earlier release."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, TopicPartition

from pykbroker.config.setting import ConfigError
from pykbroker.process.log_directories import StartFailed
from pykbroker.releases.over_zookeeper import created_soon
from pykbroker.security.context import RequestContext
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.wire.apis import ApiKey, response_class
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, INVALID_TOPIC, UNSUPPORTED_VERSION, INVALID_REQUEST = 3, 5, 17, 35, 42
GROUP = 32


def ask(kafka: Kafka, request: Message, version: int) -> Any:
    """The answer, asked over a socket."""
    key = type(request).API_KEY
    frame = bytearray()
    encode_request_header(frame, RequestHeader(key, version, 1, "test"))
    request.encode(frame, version)
    host, port = kafka.bootstrap_servers.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=20) as connection, connection.makefile("rb") as stream:
        connection.sendall(len(frame).to_bytes(4, "big") + frame)
        answer = stream.read(int.from_bytes(stream.read(4), "big"))
    if key == ApiKey.API_VERSIONS and version > 3:
        return response_class(key).decode(answer, 4, 0 if answer[4:6] == b"\0\x23" else version)[0]
    _, position = decode_response_header(answer, 0, key, version)
    return response_class(key).decode(answer, position, version)[0]


def test_it_lists_the_apis_of_the_release() -> None:
    with Kafka(as_version="2.8") as old, Kafka(as_version="3.9") as newer, Kafka() as now:
        highest = [
            {api.api_key: api.max_version for api in ask(kafka, ApiVersionsRequest("a", "1"), 3).api_keys}
            for kafka in (old, newer, now)
        ]
        assert [each[ApiKey.FETCH] for each in highest] == [12, 17, 18]
        assert [ApiKey.CONSUMER_GROUP_HEARTBEAT in each for each in highest] == [False, True, True]
        assert ask(old, ApiVersionsRequest("a", "1"), 4).error_code == UNSUPPORTED_VERSION


def test_features_are_those_of_the_release() -> None:
    with Kafka(as_version="2.8") as old, Kafka(as_version="3.9") as newer:
        answers = [ask(kafka, ApiVersionsRequest("a", "1"), 3) for kafka in (old, newer)]
    assert (answers[0].supported_features, answers[0].finalized_features, answers[0].finalized_features_epoch) == (
        [],
        [],
        0,
    )
    assert [(each.name, each.max_version_level) for each in answers[1].finalized_features] == [("metadata.version", 21)]


def test_they_are_so_after_a_reset_and_in_a_cluster() -> None:
    with KafkaCluster(as_version="3.9") as kafka:
        kafka.reset()
        assert kafka.node.cluster.metadata.image.features == {"metadata.version": 21}


def test_a_newer_directory_is_refused(tmp_path: Path) -> None:
    with Kafka(data_dir=tmp_path):
        pass
    with pytest.raises(StartFailed, match=r"at level 33 of metadata\.version; this broker knows levels 7 to 21"):
        Kafka(data_dir=tmp_path, as_version="3.9").start()


def test_an_older_directory_is_taken_over(tmp_path: Path) -> None:
    with Kafka(data_dir=tmp_path, as_version="3.9") as kafka:
        kafka.produce("t", "kept")
    with Kafka(data_dir=tmp_path) as kafka:
        assert [each.text for each in kafka.records("t")] == ["kept"]


def test_settings_are_those_of_the_release() -> None:
    with Kafka(as_version="2.8", log_message_format_version="0.11.0") as kafka:
        kafka.create_topic("t", configs={"message.format.version": "0.11.0", "segment.bytes": 1000})
        asked = [DescribeConfigsResource(2, "t", None), DescribeConfigsResource(GROUP, "g", None)]
        topic, group = ask(kafka, DescribeConfigsRequest(asked), 4).results
        found = {config.name: config.value for config in topic.configs}
        assert (found["message.format.version"], found["segment.bytes"]) == ("0.11.0", "1000")
        assert "remote.storage.enable" not in found
        assert group.error_code == INVALID_REQUEST
    with pytest.raises(ConfigError, match=r"no broker setting group\.consumer\.max\.size"):
        Kafka(as_version="2.8", group_consumer_max_size=3)


def test_a_topic_that_2_8_creates_has_no_leader_yet() -> None:
    for name, code in (("2.8", LEADER_NOT_AVAILABLE), ("3.9", UNKNOWN_TOPIC)):
        with Kafka(as_version=name) as kafka:
            kafka.create_topic("another")
            asked = MetadataRequest([MetadataRequestTopic(name="new")])
            assert ask(kafka, asked, 9).topics[0].error_code == code
            asked.allow_auto_topic_creation = False
            asked.topics[0].name = "never"
            assert ask(kafka, asked, 9).topics[0].error_code == UNKNOWN_TOPIC


def test_a_topic_that_came_meanwhile_does_not_collide_with_itself() -> None:
    with Kafka(as_version="2.8") as kafka:
        kafka.create_topic("a.b")
        asked = MetadataRequest([MetadataRequestTopic(name=name) for name in ("a.b", "a_b")])
        assert [each.error_code for each in ask(kafka, asked, 9).topics] == [0, INVALID_TOPIC]
        too_early = MetadataResponse(topics=[MetadataResponseTopic(UNKNOWN_TOPIC, "a.b")])
        created_soon(kafka.node.cluster.brokers[1], cast("RequestContext", None), asked, too_early)
        assert too_early.topics[0].error_code == LEADER_NOT_AVAILABLE


def test_times_below_earliest_are_times_in_2_8() -> None:
    with Kafka(as_version="2.8") as kafka:
        kafka.produce("t", "one", timestamp_ms=5)
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -3)])]
        (found,) = ask(kafka, ListOffsetsRequest(-1, 0, asked), 6).topics[0].partitions
        assert (found.error_code, found.offset, found.timestamp) == (0, 0, 5)


def test_answers_over_zookeeper_leave_out_what_they_left_out() -> None:
    with Kafka(as_version="2.8") as kafka:
        validated = ask(kafka, CreateTopicsRequest([CreatableTopic("t", 1, 1)], 10_000, validate_only=True), 7)
        assert not any(validated.topics[0].topic_id)
        kafka.create_topic("t")
        elected = ask(kafka, ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [])]), 2)
        assert elected.replica_election_results == []
        deleted = ask(kafka, DeleteTopicsRequest([DeleteTopicState("t")], timeout_ms=10_000), 6)
        assert (deleted.responses[0].error_code, any(deleted.responses[0].topic_id)) == (0, False)


def test_a_group_s_state_is_asked_for_in_kafka_s_spelling_in_2_8() -> None:
    for name, found in (("2.8", []), ("3.9", ["g"])):
        with Kafka(as_version=name) as kafka:
            kafka.create_topic("t")
            consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"})
            consumer.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
            consumer.close()
            kafka.wait_for_committed("g", "t", 1)
            groups = {spelt: ask(kafka, ListGroupsRequest([spelt]), 4).groups for spelt in ("Empty", "empty")}
            assert [each.group_id for each in groups["Empty"]] == ["g"]
            assert [each.group_id for each in groups["empty"]] == found


def test_features_are_updated_one_by_one_in_3_9_and_never_in_2_8() -> None:
    updates = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey("metadata.version", 21), FeatureUpdateKey("x", 1)]
    )
    for name, codes in (("3.9", [0, 95]), ("2.8", [INVALID_REQUEST, INVALID_REQUEST])):
        with Kafka(as_version=name) as kafka:
            assert [each.error_code for each in ask(kafka, updates, 0).results] == codes


def test_in_a_process_of_its_own() -> None:
    with Kafka(as_version="2.8", process=True) as kafka:
        assert ask(kafka, ApiVersionsRequest("a", "1"), 3).supported_features == []


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no Kafka '3\.0' to be taken for; write one of 2\.8, 3\.9, 4\.3"):
        Kafka(as_version="3.0")
