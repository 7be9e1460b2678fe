"""What the controller refuses, in Kafka's codes and words. Compared with Apache Kafka 4.4.0's own answers."""

from __future__ import annotations

import pytest

from pykbroker.brokers.auto_creation import AutoCreation
from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.tests.kit.metadata import CONFIG, LOG_DIR, PLAIN, MetadataDirectory, alter, make_controller, registration
from pykbroker.wire.errors import ErrorCode, KafkaError

E = ErrorCode

REFUSED = [
    (NewTopic("bad name"), E.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: 'bad name' contains one or more"),
    (NewTopic("there"), E.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
    (NewTopic("x_y"), E.INVALID_TOPIC_EXCEPTION, "Topic 'x_y' collides with existing topic: x.y"),
    (NewTopic("x.y"), E.TOPIC_ALREADY_EXISTS, "Topic 'x.y' already exists."),
    (NewTopic("__cluster_metadata"), E.INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited."),
    (NewTopic("n", 1, 3), E.INVALID_REPLICATION_FACTOR, "Unable to replicate the partition 3 time(s): The target"),
    (NewTopic("n", 1, 0), E.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0, or -1 to use the"),
    (NewTopic("n", 1, -2), E.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0, or -1 to use the"),
    (NewTopic("n", 0, 0), E.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0, or -1 to use the"),
    (NewTopic("n", 0, 1), E.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."),
    (NewTopic("n", -2, 1), E.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."),
    (
        NewTopic("n", 1, -1, [(0, [1])]),
        E.INVALID_REQUEST,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        NewTopic("n", -1, 1, [(0, [1])]),
        E.INVALID_REQUEST,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (
        NewTopic("n", -1, -1, [(0, [1]), (0, [1])]),
        E.INVALID_REPLICA_ASSIGNMENT,
        "Found multiple manual partition assignments for partition 0",
    ),
    (
        NewTopic("n", -1, -1, [(0, [])]),
        E.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes an empty replica list.",
    ),
    (
        NewTopic("n", -1, -1, [(0, [9])]),
        E.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes broker 9, but no such broker is registered.",
    ),
    (
        NewTopic("n", -1, -1, [(0, [1, 1])]),
        E.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes the broker 1 more than once.",
    ),
    (
        NewTopic("n", -1, -1, [(0, [1, 2]), (1, [1])]),
        E.INVALID_REPLICA_ASSIGNMENT,
        (
            "The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with "
            "previous partitions, which have 2 replica(s)."
        ),
    ),
    (
        NewTopic("n", -1, -1, [(0, [1]), (2, [1])]),
        E.INVALID_REPLICA_ASSIGNMENT,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    (
        NewTopic("n", configs={"a": None, "b": "1", "c": None}),
        E.INVALID_CONFIG,
        "Null value not supported for topic configs: a,c",
    ),
    (NewTopic("n", configs={"wrong": "1"}), E.INVALID_CONFIG, "Unknown topic config name: wrong"),
]


@pytest.fixture
def controller():
    controller = make_controller(2)
    controller.create_topics([NewTopic("there", 2, 1), NewTopic("x.y")])
    return controller


@pytest.mark.parametrize(("topic", "code", "message"), REFUSED)
def test_refused_topics(controller, topic, code, message):
    before = controller.image.offset
    (result,) = controller.create_topics([topic]).value.result
    assert result.error is not None
    assert result.error.code is code
    assert result.error.message.startswith(message)
    assert controller.image.offset == before


def test_defaults_and_what_is_written(controller):
    (result,) = controller.create_topics([NewTopic("n", configs={"retention.ms": "5"})]).value.result
    assert (result.error, result.partitions, result.replication_factor) == (None, 2, 1)
    topic = controller.image.topic("n")
    assert topic.id == result.topic_id != bytes(16)
    assert controller.image.topic_config("n") == {"retention.ms": "5"}
    for partition in topic.in_order():
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
        assert partition.leader == partition.replicas[0]
        assert partition.isr == partition.replicas
        assert partition.directories == [LOG_DIR]


def test_manual_assignment_in_any_order(controller):
    (result,) = controller.create_topics([NewTopic("n", -1, -1, [(1, [2, 1]), (0, [1, 2])])]).value.result
    assert (result.partitions, result.replication_factor) == (2, 2)
    assert [p.replicas for p in controller.image.topic("n").in_order()] == [[1, 2], [2, 1]]


def batches(controller):
    return sum(1 for _ in controller.log._log.batches(0))


def test_many_topics_are_one_append_and_one_bad_one_stops_no_other(controller):
    before = batches(controller)
    results = controller.create_topics([NewTopic("a"), NewTopic("b b"), NewTopic("c")]).value.result
    assert [result.error is None for result in results] == [True, False, True]
    assert batches(controller) == before + 1
    assert {"a", "c"} <= set(controller.image.topics)


def test_validate_only_changes_nothing(controller):
    (result,) = controller.create_topics([NewTopic("n", 4, 2)], validate_only=True).value.result
    assert (result.error, result.partitions, result.replication_factor) == (None, 4, 2)
    assert "n" not in controller.image.topics


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([NewTopic("n", 10_001, 1)], "Excessively large number of partitions per request."),
        ([NewTopic("n", 6_000, 1), NewTopic("m", 6_000, 1)], "Excessively large number of partitions per request."),
        ([NewTopic("n", 10_000, 1)], "Unable to perform excessively large batch operation."),
    ],
)
def test_too_many_partitions_at_once(topics, message):
    directory = MetadataDirectory(levels=PLAIN)
    controller = directory.controller
    controller.start_brokers([registration(1)])
    created = controller.create_topics(topics)
    while not created.done:  # many are planned in slices
        directory.runtime.wake_queue.run()
    with pytest.raises(KafkaError) as caught:
        _ = created.value
    assert (caught.value.code, caught.value.message) == (E.POLICY_VIOLATION, message)
    assert "n" not in controller.image.topics


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (NewPartitions("nope", 2), E.UNKNOWN_TOPIC_OR_PARTITION, None),
        (NewPartitions("there", 2), E.INVALID_PARTITIONS, "Topic already has 2 partition(s)."),
        (
            NewPartitions("there", 1),
            E.INVALID_PARTITIONS,
            "The topic there currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            NewPartitions("there", 4, [[1]]),
            E.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            NewPartitions("there", 3, [[1, 2]]),
            E.INVALID_REPLICA_ASSIGNMENT,
            (
                "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with "
                "previous partitions, which have 1 replica(s)."
            ),
        ),
    ],
)
def test_refused_partitions(controller, wanted, code, message):
    ((name, error),) = controller.create_partitions([wanted]).value.result
    assert name == wanted.name
    assert (error.code, error.given_message) == (code, message)


def test_more_partitions(controller):
    assert controller.create_partitions([NewPartitions("there", 3, [[2]])], validate_only=True).value.result == [
        ("there", None)
    ]
    assert len(controller.image.topic("there").partitions) == 2
    assert controller.create_partitions([NewPartitions("there", 3, [[2]]), NewPartitions("x.y", 9)]).value.result == [
        ("there", None),
        ("x.y", None),
    ]
    assert controller.image.partition("there", 2).replicas == [2]
    assert len(controller.image.topic("x.y").partitions) == 9


def test_delete(controller):
    topic_id = controller.image.topic("x.y").id
    alter(controller, TOPIC_RESOURCE, "x.y", retention_ms="1")
    errors = controller.delete_topics([topic_id, b"?" * 16]).value.result
    assert errors[topic_id] is None
    assert errors[b"?" * 16].code is E.UNKNOWN_TOPIC_ID
    assert controller.image.topic("x.y") is None
    assert controller.image.topic_by_id(topic_id) is None
    assert controller.image.topic_config("x.y") == {}
    (result,) = controller.create_topics([NewTopic("x_y")]).value.result
    assert result.error is None
    assert result.topic_id != topic_id


def test_auto_creation(controller, caplog):
    names = ["fresh", "__consumer_offsets", "b b", "__cluster_metadata"]
    assert AutoCreation(controller, CONFIG).create(names).value is None
    assert "Auto-creation of topic b b failed: INVALID_TOPIC_EXCEPTION" in caplog.text
    assert "Auto-creation of topic __cluster_metadata failed" in caplog.text
    assert "fresh" in controller.image.topics
    assert len(controller.image.topic("__consumer_offsets").partitions) == 50
    assert controller.image.topic_config("__consumer_offsets") == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
