"""Replays a lake into topics: a consumer reads what was archived, however often the replay was interrupted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake import replay_task
from pykbroker.lake.errors import LakeError
from pykbroker.lake.replay import Replay, ReplayOptions
from pykbroker.testing import Kafka


def replay(workshop: Workshop, **options: Any) -> int:
    job = Replay(workshop.lake, workshop.cluster.bootstrap, {}, ReplayOptions(**options))
    return sum(job.run().values())


def content(messages: list[Message]) -> dict[int, list[tuple[Any, ...]]]:
    """The records of each partition, in order."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for message in messages:
        record = (message.timestamp(), message.key(), message.value(), message.headers())
        found.setdefault(message.partition(), []).append(record)
    return found


@pytest.fixture
def archived(make: Callable[..., Workshop], topics: Topics) -> tuple[Workshop, str]:
    """Two partitions, timestamps out of order, nulls, a header name twice."""
    topic = topics.create(2, retention_ms="-1")
    headers = [("a", b"1"), ("a", None)]
    topics.send(
        topic, range(20), 0, timestamps=[1_000_000 + 1000 * (number ^ 1) for number in range(20)], headers=headers
    )
    topics.send(topic, range(5), 1, timestamps=[1_003_000] * 5, key=b"five")
    topics.send_raw(topic, b"gone", None)
    topics.send_raw(topic, None, b"")
    workshop = make()
    workshop.archive(topic)
    return workshop, topic


def test_partitions_come_back_as_they_were(archived: tuple[Workshop, str], topics: Topics) -> None:
    workshop, topic = archived
    job = Replay(workshop.lake, topics.bootstrap, {}, ReplayOptions(f"{topic}-again", rename={topic: f"{topic}-again"}))
    assert job.look().line() == "0 offsets, 0 a second, 27 to go"
    assert sum(job.run().values()) == 27
    assert job.look().line().startswith("27 offsets, ")
    assert content(topics.receive(f"{topic}-again")) == content(topics.receive(topic))
    assert replay(workshop, name=f"{topic}-again", rename={topic: f"{topic}-again"}) == 0
    topics.send(topic, range(3), 1)
    workshop.archive(topic)
    assert replay(workshop, name=f"{topic}-again", rename={topic: f"{topic}-again"}) == 3
    workshop.lake.write_entry(replace(workshop.lake.last_entry(), ids={topic: "another"}))
    with pytest.raises(LakeError, match=rf"The replay {topic}-again has sent {topic}-[01] as another lake has it"):
        replay(workshop, name=f"{topic}-again", rename={topic: f"{topic}-again"})
    assert content(topics.receive(f"{topic}-again")) == content(topics.receive(topic))


def test_a_complete_replay_has_nothing_to_go_where_a_log_ends_with_markers(
    make: Callable[..., Workshop], topics: Topics
) -> None:
    topic = topics.create()
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic})
    producer.init_transactions(60)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, b"x", partition=0)
        producer.flush(30)
        end(60)
    workshop = make()
    workshop.archive(topic)
    job = Replay(workshop.lake, topics.bootstrap, {}, ReplayOptions(topic, prefix="marked-"))
    assert sum(job.run().values()) == 3
    assert ", 0 to go" in job.look().line()


def test_what_is_chosen_alone_is_sent(archived: tuple[Workshop, str], topics: Topics) -> None:
    workshop, topic = archived
    assert replay(workshop, name=f"{topic}-five", prefix="five-", keys=("five",)) == 5
    assert content(topics.receive(f"five-{topic}")) == {1: content(topics.receive(topic))[1]}
    assert replay(workshop, name=f"{topic}-some", prefix="some-", since_ms=1_002_000, until_ms=1_003_000) == 1
    with pytest.raises(LakeError, match="no topic that matches 'nothing'"):
        replay(workshop, topics="nothing")


def test_at_recorded_speed_it_takes_as_long_as_it_took(archived: tuple[Workshop, str], topics: Topics) -> None:
    """Nineteen seconds of 1970, ten times as fast as recorded, both partitions side by side."""
    workshop, topic = archived
    begun = time.monotonic()
    assert replay(workshop, name=f"{topic}-slow", prefix="slow-", speed=10.0, until_ms=1_100_000) == 25
    assert time.monotonic() - begun >= 1.9
    assert content(topics.receive(f"slow-{topic}"))[1] == content(topics.receive(topic))[1]


def test_a_topic_with_fewer_partitions_is_refused(archived: tuple[Workshop, str], topics: Topics) -> None:
    workshop, topic = archived
    topics.create(1, name=f"narrow-{topic}")
    with pytest.raises(LakeError, match=rf"The topic narrow-{topic} has 1 partitions, and 2 were archived"):
        replay(workshop, prefix="narrow-")


def test_records_may_be_as_large_as_the_topic_allows(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create(1, retention_ms="-1", max_message_bytes="3000000")
    producer = Producer({"bootstrap.servers": topics.bootstrap, "message.max.bytes": 3_000_000})
    for size in (10, 2_000_000):
        producer.produce(topic, random.randbytes(size), partition=0)
    assert producer.flush(30) == 0
    workshop = make()
    workshop.archive(topic)
    with pytest.raises(
        Exception, match=rf"{topic}-0, offsets? [01].*: small-{topic} did not take a record: .* too large"
    ):
        replay(workshop, name=f"{topic}-small", prefix="small-")
    large = {"max.message.bytes": "3000000"}
    assert replay(workshop, name=f"{topic}-large", prefix="large-", topic_configs=large) == 2
    assert content(topics.receive(f"large-{topic}")) == content(topics.receive(topic))


def test_positions_are_asked_again_where_the_coordinator_is_not_there_yet() -> None:
    """As in a cluster that creates its offsets topic at the first request."""
    with Kafka() as kafka:
        placed = kafka.faults.fail("OffsetFetch", "NOT_COORDINATOR", times=3)
        group = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "replay"})
        kafka.create_topic("t")
        found = replay_task.committed(group, [TopicPartition("t", 0)])
        group.close()
        assert [(each.topic, each.partition, each.error) for each in found] == [("t", 0, None)]
        assert placed.fired == 3


def test_a_sender_that_died_is_followed_by_one_that_goes_on(archived: tuple[Workshop, str], topics: Topics) -> None:
    """It leaves a committed transaction and an open one; the next sender aborts the open one and sends its records again, once."""
    workshop, topic = archived
    target = topics.create(2, name=f"died-{topic}")
    client = {"bootstrap.servers": topics.bootstrap}
    sending = replay_task.Sending(f"{topic}-died", client, {topic: target}, transaction_records=5)
    line = replay_task._Line(sending, topic, 0)
    rows = workshop.lake.read().where(f"topic = '{topic}' AND partition = 0 AND offset < 8").orderBy("offset")
    wanted = rows.selectExpr("offset", "unix_millis(timestamp) AS ms", "key", "value", "headers")
    for row in wanted.toArrow().to_pylist():
        line.send(row)
    line._producer.flush(30)  # five are committed, three are in the log and open
    assert replay(workshop, name=f"{topic}-died", prefix="died-") == 22
    assert content(topics.receive(target)) == content(topics.receive(topic))
