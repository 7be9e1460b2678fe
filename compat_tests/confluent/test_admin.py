"""confluent-kafka (librdkafka): the admin client.

Covers topics, partitions, settings (both forms of altering), deleting records, offsets, the cluster. Left out: access lists,
users, quotas.
"""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from compat_tests.confluent.conftest import send


def configs_of(admin, topic):
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return admin.describe_configs([resource])[resource].result(60)


def test_create_describe_delete(admin, make_topic):
    topic = make_topic(partitions=3)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(60)
    assert [p.id for p in described.partitions] == [0, 1, 2]
    assert {(p.leader.id, p.isr[0].id) for p in described.partitions} == {(1, 1)}
    assert str(described.topic_id) != "AAAAAAAAAAAAAAAAAAAAAA"
    admin.delete_topics([topic])[topic].result(60)
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        admin.describe_topics(TopicCollection([topic]))[topic].result(60)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("{}", 1, 9), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("{}", 1, 1, config={"nothing.such": "1"}), "INVALID_CONFIG"),
        (NewTopic("{}", 1, 1, config={"segment.bytes": "-5"}), "INVALID_CONFIG"),
        (NewTopic("{} {}", 1, 1), "TOPIC_EXCEPTION"),
    ],
    ids=["replication", "unknown-setting", "bad-value", "name"],
)
def test_create_refuses(admin, name, topic, error):
    topic = NewTopic(topic.topic.replace("{}", name()), 1, topic.replication_factor, config=topic.config or {})
    with pytest.raises(KafkaException, match=error):
        admin.create_topics([topic])[topic.topic].result(60)


def test_create_twice_and_validate_only(admin, make_topic, name):
    topic = make_topic()
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    other = name()
    admin.create_topics([NewTopic(other, 1, 1)], validate_only=True)[other].result(60)
    assert other not in admin.list_topics(timeout=60).topics


def test_more_partitions(admin, make_topic):
    topic = make_topic()
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(60)
    assert len(admin.describe_topics(TopicCollection([topic]))[topic].result(60).partitions) == 4
    with pytest.raises(KafkaException, match="INVALID_PARTITIONS"):
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)


def test_incremental_alter(admin, make_topic):
    topic = make_topic()
    changes = [
        ConfigEntry("retention.ms", "5000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
    admin.incremental_alter_configs([resource])[resource].result(60)
    configs = configs_of(admin, topic)
    assert configs["retention.ms"].value == "5000"
    assert configs["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert configs["cleanup.policy"].value == "delete,compact"
    assert configs["segment.bytes"].is_default


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated:DeprecationWarning")
def test_alter_replaces_all(admin, make_topic):
    topic = make_topic(**{"retention.ms": "5000"})
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.bytes": "2000000"})
    admin.alter_configs([resource])[resource].result(60)
    configs = configs_of(admin, topic)
    assert configs["segment.bytes"].value == "2000000"
    assert configs["retention.ms"].is_default


def test_delete_records_and_list_offsets(admin, make_topic, producer):
    topic = make_topic()
    send(producer(), topic, [b"%d" % i for i in range(9)], timestamp=1_700_000_000_000)
    send(producer(), topic, [b"latest"], timestamp=1_700_000_000_001)
    partition = TopicPartition(topic, 0, 4)
    (deleted,) = admin.delete_records([partition]).values()
    assert deleted.result(60).low_watermark == 4
    asked = {"earliest": OffsetSpec.earliest(), "latest": OffsetSpec.latest(), "max": OffsetSpec.max_timestamp()}
    found = {
        what: next(iter(admin.list_offsets({TopicPartition(topic, 0): spec}).values())).result(60).offset
        for what, spec in asked.items()
    }
    assert found == {"earliest": 4, "latest": 10, "max": 9}


def test_cluster(admin, target):
    cluster = admin.describe_cluster().result(60)
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [target.bootstrap]
    assert cluster.controller.id == cluster.nodes[0].id
    assert admin.list_topics(timeout=60).cluster_id == cluster.cluster_id
