"""Metadata, DescribeTopicPartitions, CreateTopics, DeleteTopics, CreatePartitions."""

from __future__ import annotations

from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

UNKNOWN_ID = bytes(range(1, 17))
BAD_NAMES = ["", ".", "..", "no spaces", "no/slash", "a" * 250, "ünïcode", "nul\0"]


def describe(*topics: str, **options: Any) -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(name=topic) for topic in topics], **options)


# ---- Metadata


@case(ApiKey.METADATA)
def one_topic(ask: Ask) -> None:
    ask(describe(ask.topic(partitions=3)))


@case(ApiKey.METADATA, since=4)
def an_unknown_topic(ask: Ask) -> None:
    ask(describe(ask.name("none"), allow_auto_topic_creation=False))


@case(ApiKey.METADATA, since=4)
def bad_names(ask: Ask) -> None:
    for name in BAD_NAMES:
        ask(describe(name, allow_auto_topic_creation=False))
        ask(describe(name, allow_auto_topic_creation=True))


@case(ApiKey.METADATA)
def a_name_that_collides_is_not_created(ask: Ask) -> None:
    """The controller refuses it; who asks for it is never told, and only learns that it is not there."""
    dotted = f"{ask.topic()}.x"
    ask(CreateTopicsRequest([CreatableTopic(dotted, 1, 1)]), 5)
    collides = dotted.replace(".", "_")
    for _ in range(2):
        ask(describe(collides))


@case(ApiKey.METADATA)
def creates_where_it_may(ask: Ask) -> None:
    name = ask.name("auto")
    ask(describe(name))
    ask.learn(name)
    ask(describe(name))


@case(ApiKey.METADATA)
def a_deleted_topic_comes_back_after_the_answer(ask: Ask) -> None:
    topic = ask.topic()
    ask.quietly(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 5)
    ask.until(
        lambda answer: answer.topics[0].error_code == 3, MetadataRequest([MetadataRequestTopic(name=topic)], False), 9
    )
    ask(describe(topic))
    ask.learn(topic)
    ask(describe(topic))


@case(ApiKey.METADATA, since=4)
def the_same_topic_twice_and_two_at_once(ask: Ask) -> None:
    topic, other = ask.topic(), ask.topic("other", partitions=2)
    ask(describe(topic, topic, allow_auto_topic_creation=False))
    ask(describe(topic, ask.name("none"), other, allow_auto_topic_creation=False))


@case(ApiKey.METADATA, since=8)
def with_operations(ask: Ask) -> None:
    ask(describe(ask.topic(), include_topic_authorized_operations=True))


@case(ApiKey.METADATA, since=12)
def by_id(ask: Ask) -> None:
    topic = ask.topic()
    ask(MetadataRequest([MetadataRequestTopic(ask.topic_ids[topic], None)]))
    ask(MetadataRequest([MetadataRequestTopic(UNKNOWN_ID, None)]))
    ask(MetadataRequest([MetadataRequestTopic(ask.topic_ids[topic], None), MetadataRequestTopic(UNKNOWN_ID, None)]))


@case(ApiKey.METADATA, since=10)
def neither_name_nor_id(ask: Ask) -> None:
    ask(MetadataRequest([MetadataRequestTopic(bytes(16), None)]))


@case(ApiKey.METADATA, since=10, until=11)
def by_id_before_it_was_meant(ask: Ask) -> None:
    topic = ask.topic()
    ask(MetadataRequest([MetadataRequestTopic(ask.topic_ids[topic], None)]))


# ---- DescribeTopicPartitions


@case(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def pages(ask: Ask) -> None:
    topics = [ask.topic("a", partitions=3), ask.topic("b", partitions=3)]
    asked = [TopicRequest(topic) for topic in topics]
    ask(DescribeTopicPartitionsRequest(asked, 2000))
    ask(DescribeTopicPartitionsRequest(asked, 2))
    ask(DescribeTopicPartitionsRequest(asked, 4))
    ask(DescribeTopicPartitionsRequest(asked, 3))
    ask(DescribeTopicPartitionsRequest(asked, 2, Cursor(topics[0], 2)))
    ask(DescribeTopicPartitionsRequest(asked, 2000, Cursor(topics[1], 1)))
    ask(DescribeTopicPartitionsRequest(asked, 2000, Cursor(topics[1], 9)))
    ask(DescribeTopicPartitionsRequest(asked, 2000, Cursor(ask.name("zzz"), 0)))
    ask(DescribeTopicPartitionsRequest(asked, 2000, Cursor(topics[0], -1)))


@case(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def not_there(ask: Ask) -> None:
    topic = ask.topic()
    ask(DescribeTopicPartitionsRequest([TopicRequest(ask.name("none")), TopicRequest(topic)], 2000))
    ask(DescribeTopicPartitionsRequest([TopicRequest("no spaces")], 2000))
    ask(DescribeTopicPartitionsRequest([TopicRequest(topic), TopicRequest(topic)], 2000))


@case(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
def unusual_limits(ask: Ask) -> None:
    topic = ask.topic()
    ask(DescribeTopicPartitionsRequest([TopicRequest(topic)], 0))
    ask(DescribeTopicPartitionsRequest([TopicRequest(topic)], -5))


# ---- CreateTopics


def create(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(list(topics), 10_000, validate_only)


@case(ApiKey.CREATE_TOPICS)
def created(ask: Ask) -> None:
    name = ask.name("t")
    settings = [CreatableTopicConfig("retention.ms", "60000"), CreatableTopicConfig("cleanup.policy", "compact,delete")]
    ask(create(CreatableTopic(name, 3, 1, [], settings)))
    ask.learn(name)
    ask(describe(name), 9)
    ask(create(CreatableTopic(name, 3, 1)))


@case(ApiKey.CREATE_TOPICS, since=4)
def created_with_defaults(ask: Ask) -> None:
    ask(create(CreatableTopic(ask.name("t"), -1, -1)))


@case(ApiKey.CREATE_TOPICS)
def validated_only(ask: Ask) -> None:
    ask(create(CreatableTopic(ask.name("t"), 2, 1), validate_only=True))
    ask(create(CreatableTopic(ask.name("t"), 2, 5), validate_only=True))
    ask(describe(ask.name("t"), allow_auto_topic_creation=False), 9)


@case(ApiKey.CREATE_TOPICS)
def refused_names(ask: Ask) -> None:
    for name in BAD_NAMES:
        ask(create(CreatableTopic(name, 1, 1)))


@case(ApiKey.CREATE_TOPICS)
def a_name_that_collides(ask: Ask) -> None:
    first = ask.topic("a.b")
    ask(create(CreatableTopic(first.replace(".", "_"), 1, 1)))


@case(ApiKey.CREATE_TOPICS)
def refused_numbers(ask: Ask) -> None:
    for partitions, replicas in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (1, 32767)):
        ask(create(CreatableTopic(ask.name("t"), partitions, replicas)))


@case(ApiKey.CREATE_TOPICS)
def refused_settings(ask: Ask) -> None:
    for setting, value in (
        ("no.such.setting", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", ""),
        ("retention.ms", None),
        ("segment.bytes", "1"),
        ("cleanup.policy", "burn"),
        ("compression.type", "zip"),
        ("message.timestamp.type", "Sometime"),
        ("min.insync.replicas", "0"),
        ("max.message.bytes", "-1"),
        ("unclean.leader.election.enable", "perhaps"),
        ("min.cleanable.dirty.ratio", "2"),
        ("compression.gzip.level", "77"),
        ("leader.replication.throttled.replicas", "x:y"),
    ):
        ask(create(CreatableTopic(ask.name("t"), 1, 1, [], [CreatableTopicConfig(setting, value)])))


@case(ApiKey.CREATE_TOPICS)
def assigned_by_hand(ask: Ask) -> None:
    def by_hand(*assignments: tuple[int, list[int]], partitions: int = -1, replicas: int = -1) -> None:
        places = [CreatableReplicaAssignment(*assignment) for assignment in assignments]
        ask(create(CreatableTopic(ask.name("t"), partitions, replicas, places)))

    by_hand((0, [77]))
    by_hand((1, [1]))
    by_hand((0, [1]), (0, [1]))
    by_hand((0, [1, 1]))
    by_hand((0, []))
    by_hand((0, [1]), (2, [1]))
    by_hand((0, [1]), partitions=1, replicas=1)
    by_hand((0, [1]), (1, [1]))


@case(ApiKey.CREATE_TOPICS)
def the_same_name_twice_in_one_request(ask: Ask) -> None:
    twice = CreatableTopic(ask.name("t"), 1, 1)
    ask(create(twice, twice, CreatableTopic(ask.name("other"), 1, 1)))


@case(ApiKey.CREATE_TOPICS)
def the_same_setting_twice(ask: Ask) -> None:
    settings = [CreatableTopicConfig("retention.ms", "1"), CreatableTopicConfig("retention.ms", "2")]
    ask(create(CreatableTopic(ask.name("t"), 1, 1, [], settings)))


@case(ApiKey.CREATE_TOPICS)
def internal_names(ask: Ask) -> None:
    ask(create(CreatableTopic("__cluster_metadata", 1, 1)))


@case(ApiKey.CREATE_TOPICS)
def nothing_to_create(ask: Ask) -> None:
    ask(create())


# ---- DeleteTopics


def delete(ask: Ask, *topics: str) -> DeleteTopicsRequest:
    if ask.version >= 6:
        return DeleteTopicsRequest([DeleteTopicState(name=topic) for topic in topics], [], 10_000)
    return DeleteTopicsRequest([], list(topics), 10_000)


@case(ApiKey.DELETE_TOPICS)
def deleted(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask(delete(ask, topic))
    ask.until(lambda answer: answer.topics[0].error_code == 3, describe(topic, allow_auto_topic_creation=False), 9)
    ask(delete(ask, topic))


@case(ApiKey.DELETE_TOPICS)
def some_of_several(ask: Ask) -> None:
    ask(delete(ask, ask.topic(), ask.name("none"), "no spaces", ""))


@case(ApiKey.DELETE_TOPICS)
def the_same_twice(ask: Ask) -> None:
    topic = ask.topic()
    ask(delete(ask, topic, topic))


@case(ApiKey.DELETE_TOPICS, since=6)
def deleted_by_id(ask: Ask) -> None:
    topic = ask.topic()
    by_id = DeleteTopicState(None, ask.topic_ids[topic])
    ask(DeleteTopicsRequest([DeleteTopicState(None, UNKNOWN_ID), DeleteTopicState(None, bytes(16))], [], 10_000))
    ask(DeleteTopicsRequest([DeleteTopicState(topic, ask.topic_ids[topic])], [], 10_000))
    ask(DeleteTopicsRequest([by_id, DeleteTopicState(topic)], [], 10_000))
    ask(DeleteTopicsRequest([by_id], [], 10_000))


# ---- CreatePartitions


def increase(*topics: CreatePartitionsTopic, validate_only: bool = False) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(list(topics), 10_000, validate_only)


@case(ApiKey.CREATE_PARTITIONS)
def more(ask: Ask) -> None:
    topic = ask.topic()
    ask(increase(CreatePartitionsTopic(topic, 3, None), validate_only=True))
    ask(increase(CreatePartitionsTopic(topic, 3, None)))
    ask.until(lambda answer: len(answer.topics[0].partitions) == 3, describe(topic), 9)
    ask(increase(CreatePartitionsTopic(topic, 4, [CreatePartitionsAssignment([1])])))
    ask.until(lambda answer: len(answer.topics[0].partitions) == 4, describe(topic), 9)


@case(ApiKey.CREATE_PARTITIONS)
def refused(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    for count in (2, 1, 0, -1):
        ask(increase(CreatePartitionsTopic(topic, count, None)))
    ask(increase(CreatePartitionsTopic(ask.name("none"), 3, None)))
    ask(increase(CreatePartitionsTopic("no spaces", 3, None)))
    for assignment in ([], [[1]], [[1], [9]], [[1], [1], [1]], [[1], [1, 1]], [[1], []]):
        places = [CreatePartitionsAssignment(replicas) for replicas in assignment]
        ask(increase(CreatePartitionsTopic(topic, 4, places)))
    ask(increase(CreatePartitionsTopic(topic, 3, None), CreatePartitionsTopic(topic, 4, None)))
