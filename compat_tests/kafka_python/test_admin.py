"""kafka-python (3.x): the admin client.

Covers topics (create, describe, delete, errors), partitions, settings of topics and brokers, deleting records, log
folders, the cluster and its features. Left out: access lists, users, quotas, transactions, reassignments.
"""

from __future__ import annotations

import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from compat_tests.harness.awaiting import eventually


def test_create_describe_delete(admin, name):
    topic = name()
    admin.create_topics({topic: {"num_partitions": 3, "replication_factor": 1}})
    (described,) = admin.describe_topics([topic])
    assert described["name"] == topic
    assert not described["is_internal"]
    assert sorted(p["partition_index"] for p in described["partitions"]) == [0, 1, 2]
    assert all(p["leader_id"] == 1 and p["isr_nodes"] == [1] for p in described["partitions"])
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    # Apache Kafka answers when the controller knows; its brokers follow.
    eventually(admin.list_topics, lambda topics: topic not in topics)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"num_partitions": 0}, InvalidPartitionsError),
        ({"replication_factor": 3}, InvalidReplicationFactorError),
        ({"configs": {"no.such.setting": "1"}}, InvalidConfigurationError),
        ({"configs": {"retention.ms": "soon"}}, InvalidConfigurationError),
        ({"configs": {"cleanup.policy": "burn"}}, InvalidConfigurationError),
    ],
)
def test_create_refuses(admin, name, spec, error):
    topic = name()
    with pytest.raises(error):
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1, **spec}})
    assert topic not in admin.list_topics()


@pytest.mark.parametrize("bad", ["", ".", "..", "a b", "a/b", "x" * 250])
def test_create_refuses_the_name(admin, bad):
    with pytest.raises(InvalidTopicError):
        admin.create_topics({bad: {"num_partitions": 1, "replication_factor": 1}})


def test_create_twice(admin, make_topic):
    topic = make_topic()
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})


def test_validate_only_creates_nothing(admin, name):
    topic = name()
    admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}}, validate_only=True)
    assert topic not in admin.list_topics()


def test_delete_what_is_not_there(admin, name):
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([name()])


def test_more_partitions(admin, make_topic):
    topic = make_topic(partitions=1)
    admin.create_partitions({topic: 4})
    # Apache Kafka's metadata follow a moment later
    eventually(lambda: admin.describe_topics([topic]), lambda described: len(described[0]["partitions"]) == 4)
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({topic: 2})


def test_describe_topic_partitions_pages(admin, make_topic):
    topic = make_topic(partitions=5)
    first = admin.describe_topic_partitions([topic], response_partition_limit=3)
    assert [p["partition_index"] for p in first["topics"][0]["partitions"]] == [0, 1, 2]
    rest = admin.describe_topic_partitions([topic], cursor=first["next_cursor"])
    assert [p["partition_index"] for p in rest["topics"][0]["partitions"]] == [3, 4]
    assert rest["next_cursor"] is None


def topic_configs(admin, topic, which="all"):
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    (by_name,) = admin.describe_configs([resource], config_filter=which).values()
    return by_name[topic]


def settings_become(admin, topic, expected):
    """Asks until the settings have the expected values: Apache Kafka answers a change before it can be read."""

    def seen():
        configs = topic_configs(admin, topic)
        return {name: configs[name]["value"] for name in expected if name in configs}

    eventually(seen, lambda found: found == expected)


def test_topic_settings_change_and_reset(admin, make_topic):
    topic = make_topic(**{"retention.ms": "60000"})
    settings_become(admin, topic, {"retention.ms": "60000"})
    change = {"retention.ms": ("SET", "120000"), "cleanup.policy": ("APPEND", "compact")}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, change)])
    settings_become(admin, topic, {"retention.ms": "120000", "cleanup.policy": "delete,compact"})
    admin.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic, ["retention.ms"])])
    settings_become(admin, topic, {"retention.ms": "604800000"})
    assert set(topic_configs(admin, topic, "modified")) == {"cleanup.policy"}


def test_broker_settings(admin):
    resource = ConfigResource(ConfigResourceType.BROKER, "1")
    ((configs,),) = [
        tuple(found.values()) for found in admin.describe_configs([resource], config_filter="all").values()
    ]
    assert configs["log.retention.hours"]["value"] == "168"
    assert configs["log.dirs"]["value"]


def test_delete_records(admin, make_topic, producer, consumer):
    topic, one = make_topic(), producer()
    for i in range(10):
        one.send(topic, b"%d" % i)
    one.flush()
    partition = TopicPartition(topic, 0)
    assert admin.delete_records({partition: 6})[partition]["low_watermark"] == 6
    reader = consumer(topic)
    assert next(reader).offset == 6
    assert reader.beginning_offsets([partition]) == {partition: 6}


def test_log_dirs(admin, make_topic, producer):
    topic = make_topic(partitions=2)
    producer().send(topic, b"x" * 1000, partition=1).get(60)
    (broker,) = admin.describe_log_dirs()
    (folder,) = broker["log_dirs"]
    sizes = {(t["name"], p["partition_index"]): p["partition_size"] for t in folder["topics"] for p in t["partitions"]}
    assert sizes[topic, 0] == 0
    assert sizes[topic, 1] > 1000


def test_cluster(admin, target):
    cluster = admin.describe_cluster()
    assert [f"{b['host']}:{b['port']}" for b in cluster["brokers"]] == [target.bootstrap]
    assert cluster["controller_id"] == cluster["brokers"][0]["broker_id"]
    assert len(cluster["cluster_id"]) == 22


def test_features(admin):
    version = admin.describe_features()["metadata.version"]
    assert version["supported"][0] <= version["finalized"][0] <= version["supported"][1]
