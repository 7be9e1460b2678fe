"""MirrorMaker in its dedicated mode between two clusters of ``pykbroker serve --security sasl_ssl``, each with an authority,
users and access lists of its own: records, the groups that read them, and who may read the topic arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from compat_tests.conftest import takes_long
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.pasted import Pasted, served
from compat_tests.harness.records import LIMIT_S
from compat_tests.mirror.mirror_maker import MirrorMaker
from pykbroker.storage.properties import parse_properties

TOPIC, GROUP = "moved-safely", "moving-safely"
VALUES = [b"value %d" % number for number in range(500)]
AUTHORIZED = (
    *("--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    *("--set", "super.users=User:alice"),
)


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[Pasted, Pasted]]:
    for name in "ab":
        (tmp_path / name).mkdir()
    with served(tmp_path / "a", "sasl_ssl", *AUTHORIZED) as a, served(tmp_path / "b", "sasl_ssl", *AUTHORIZED) as b:
        yield a, b


@takes_long
def test_records_groups_and_rights_are_mirrored(clusters: tuple[Pasted, Pasted], tmp_path: Path) -> None:
    a, b = clusters
    here, there = AdminClient(a.librdkafka), AdminClient(b.librdkafka)
    here.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(LIMIT_S)
    here.create_acls([right := reading(TOPIC)])[right].result(LIMIT_S)
    produce(a)
    assert values(read(a, TOPIC)) == VALUES
    mirror_maker = MirrorMaker(
        tmp_path, "", "", "moved-.*", {name: parse_properties(of.java) for name, of in zip("ab", clusters, strict=True)}
    )
    mirror_maker.start()
    try:
        copy = f"a.{TOPIC}"
        eventually(lambda: there.list_topics(timeout=LIMIT_S).topics, lambda topics: copy in topics)
        copied = read(b, copy, group=None)
        assert values(copied) == VALUES
        # Behind the last record, however many markers of transactions stand before it.
        eventually(lambda: group_offset(there, copy), lambda offset: offset == copied[-1].offset() + 1)
        eventually(lambda: there.describe_acls(every(copy)).result(LIMIT_S), lambda found: found == [reading(copy)])
    finally:
        mirror_maker.stop()


def produce(cluster: Pasted) -> None:
    producer = Producer(cluster.librdkafka)
    for value in VALUES:
        producer.produce(TOPIC, value)
    assert producer.flush(LIMIT_S) == 0


def values(messages: list[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def read(cluster: Pasted, topic: str, group: str | None = GROUP) -> list[Message]:
    """All that was produced, from the beginning; ``group`` commits where it ended."""
    consumer = Consumer({**cluster.librdkafka, "group.id": group or "only-reads", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    while len(found) < len(VALUES):
        message = consumer.poll(2 * LIMIT_S)
        assert message is not None, f"nothing after {values(found)[-1:]}"
        assert message.error() is None, message.error()
        found.append(message)
    if group is not None:
        consumer.commit(asynchronous=False)
    consumer.close()
    return found


def group_offset(admin: AdminClient, topic: str) -> int | None:
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)])[GROUP].result(LIMIT_S)
    return {each.topic: each.offset for each in answer.topic_partitions}.get(topic)


def reading(topic: str) -> AclBinding:
    """Bob may read it."""
    return AclBinding(
        *(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL),
        *("User:bob", "*", AclOperation.READ, AclPermissionType.ALLOW),
    )


def every(topic: str) -> AclBindingFilter:
    return AclBindingFilter(
        *(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL),
        *(None, None, AclOperation.ANY, AclPermissionType.ANY),
    )
