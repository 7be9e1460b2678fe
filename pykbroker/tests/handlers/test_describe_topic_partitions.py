"""Pages of topics and partitions; the same questions were put to Apache Kafka 4.4.0."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest


@pytest.fixture(scope="module")
def broker():
    broker = MemoryCluster()
    broker.controller.create_topics([NewTopic("m9", 2, 1), NewTopic("t2", 3, 1), NewTopic("v2", 1, 1)])
    return broker


def ask(broker, names, limit=2000, cursor=None):
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(*cursor),
    )
    response = broker.ask(request, 0)
    following = response.next_cursor and (response.next_cursor.topic_name, response.next_cursor.partition_index)
    return [(t.name, t.error_code, [p.partition_index for p in t.partitions]) for t in response.topics], following


@pytest.mark.parametrize(
    ("names", "limit", "cursor", "answer"),
    [
        (["t2", "m9"], 2, None, ([("m9", 0, [0, 1])], ("t2", 0))),
        (["t2", "m9"], 3, None, ([("m9", 0, [0, 1]), ("t2", 0, [0])], ("t2", 1))),
        (["t2", "m9"], 2, ("t2", 0), ([("t2", 0, [0, 1])], ("t2", 2))),
        (["t2", "m9"], 2, ("t2", 1), ([("t2", 0, [1, 2])], None)),
        (["t2", "m9"], 2, ("t2", 7), ([("t2", 0, [])], None)),
        (["t2", "m9"], 0, None, ([("m9", 0, [0])], ("m9", 1))),
        (["t2"], -5, None, ([("t2", 0, [0])], ("t2", 1))),
        (["t2"], 5, ("m9", 0), ([("t2", 42, [])], None)),
        (["t2", "m9"], 5, ("t2", -1), ([("t2", 42, []), ("m9", 42, [])], None)),
        (["missing", "t2"], 1, ("missing", 0), ([("missing", 3, []), ("t2", 0, [0])], ("t2", 1))),
        ([], 3, ("t1", 0), ([("t2", 0, [0, 1, 2])], ("v2", 0))),
        ([], 3, ("zzz", 0), ([], None)),
        (["t2", "m9"], 2, ("m9", 2), ([("m9", 0, []), ("t2", 0, [0, 1])], ("t2", 2))),
        (["t2", "m9"], 2, ("m9", 5), ([("m9", 0, []), ("t2", 0, [0, 1])], ("t2", 2))),
        ([], 2000, None, ([("m9", 0, [0, 1]), ("t2", 0, [0, 1, 2]), ("v2", 0, [0])], None)),
        (["bad name"], 2000, None, ([("bad name", ErrorCode.INVALID_TOPIC_EXCEPTION, [])], None)),
    ],
)
def test_pages(broker, names, limit, cursor, answer):
    assert ask(broker, names, limit, cursor) == answer


def test_the_broker_limits_pages_too():
    broker = MemoryCluster(max_request_partition_size_limit="2")
    broker.controller.create_topics([NewTopic("t", 5, 1)])
    assert ask(broker, ["t"]) == ([("t", 0, [0, 1])], ("t", 2))


def test_following_the_cursor_shows_everything_once(broker):
    seen, cursor = [], None
    while True:
        topics, cursor = ask(broker, [], 2, cursor)
        seen += [(name, index) for name, _, indexes in topics for index in indexes]
        if cursor is None:
            break
    assert seen == [("m9", 0), ("m9", 1), ("t2", 0), ("t2", 1), ("t2", 2), ("v2", 0)]


def test_what_a_partition_says(broker):
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="v2")])
    (topic,) = broker.ask(request, 0).topics
    (partition,) = topic.partitions
    assert topic.topic_id == broker.image.topic("v2").id
    assert topic.topic_authorized_operations == 3576
    assert (partition.leader_id, partition.leader_epoch, partition.replica_nodes, partition.isr_nodes) == (
        1,
        0,
        [1],
        [1],
    )
    assert (partition.eligible_leader_replicas, partition.last_known_elr, partition.offline_replicas) == ([], [], [])


def test_a_partition_that_is_missing_is_left_out():
    broker = MemoryCluster()
    broker.topic("t", partitions=3)
    del broker.image.topics["t"].partitions[1]
    assert ask(broker, ["t"]) == ([("t", 0, [0])], None)
