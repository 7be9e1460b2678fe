"""What an operator reads of a change of the metadata."""

from __future__ import annotations

from pykbroker.brokers import changes
from pykbroker.metadata.delta import MetadataDelta, PartitionChange
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage, PartitionImage, TopicImage
from pykbroker.tests.kit.turns import counted
from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord


def partition(index: int, leader: int, isr: list[int]) -> PartitionImage:
    return PartitionImage(index, [1, 2, 3], isr, leader, 0, 0, [])


def image(*topics: TopicImage, configs: dict | None = None) -> MetadataImage:
    made = MetadataImage("cluster")
    for topic in topics:
        made.topics[topic.name] = made.topics_by_id[topic.id] = topic
    made.configs.update(configs or {})
    return made


def topic(name: str) -> TopicImage:
    return TopicImage(name, name.encode().ljust(16), {0: partition(0, 1, [1, 2, 3])})


def test_one_line_for_many_moves() -> None:
    """A broker that stops gives up what it led, and leaves the sets of those in sync."""
    t = topic("t")
    moved = [PartitionChange(t, partition(n, 1, [1, 2, 3]), partition(n, 2, [2, 3])) for n in range(7)]
    assert list(changes.lines(image(t), MetadataDelta(partitions=moved))) == [
        f"7 partitions with a new leader: {', '.join(f't-{n} by broker 2' for n in range(5))} and 2 more",
        f"In-sync replicas of 7 partitions changed: {', '.join(f't-{n} [2, 3]' for n in range(5))} and 2 more",
    ]


def test_a_partition_that_is_not_named_costs_little() -> None:
    """A commit may change thousands; it is told in the turn in which all of them are seen."""
    t = topic("t")
    moved = [PartitionChange(t, partition(n, 1, [1, 2, 3]), partition(n, 2, [2, 3])) for n in range(2000)]
    with counted() as lines:
        assert len(list(changes.lines(image(t), MetadataDelta(partitions=moved)))) == 2
    assert 0 < lines[0] <= 4.1 * len(moved)


def test_access_lists_are_counted() -> None:
    record = AccessControlEntryRecord()
    assert list(changes.lines(image(), MetadataDelta(acls=[(record, True), (record, False), (record, True)]))) == [
        "Access lists: 2 added, 1 removed"
    ]


def test_delegation_tokens_are_counted_and_not_named() -> None:
    delta = MetadataDelta(delegation_tokens=[("a", True), ("b", True), ("a", False)])
    assert list(changes.lines(image(), delta)) == ["Delegation tokens: 2 added or renewed, 1 removed"]


def test_nobody_leads() -> None:
    t = topic("t")
    moved = [PartitionChange(t, partition(0, 1, [1]), partition(0, -1, [1]))]
    assert list(changes.lines(image(t), MetadataDelta(partitions=moved))) == [
        "1 partition with a new leader: t-0 by no broker"
    ]


def test_a_new_topic_is_told_once_with_its_settings_left_out() -> None:
    t = topic("t")
    delta = MetadataDelta(
        created_topics=[t], partitions=[PartitionChange(t, None, t.partitions[0])], configs={(TOPIC_RESOURCE, "t")}
    )
    assert list(changes.lines(image(t), delta)) == ["Created 1 topic: t (1 partition, 3 replicas)"]


def test_secrets_are_not_told() -> None:
    configs = {
        (BROKER_RESOURCE, ""): {"ssl.keystore.password": "geheim", "log.cleaner.threads": "2"},
        (BROKER_RESOURCE, "1"): {
            "listener.name.a.scram-sha-256.sasl.jaas.config": "geheim",
            "listener.name.a.ssl.keystore.key": "geheim",
            "my.api.token": "geheim",
        },
        (TOPIC_RESOURCE, "t"): {},
    }
    delta = MetadataDelta(configs=set(configs))
    assert list(changes.lines(image(topic("t"), configs=configs), delta)) == [
        "Settings of topic t are now the defaults",
        "Settings of all brokers are now log.cleaner.threads=2, ssl.keystore.password=(hidden)",
        (
            "Settings of broker 1 are now listener.name.a.scram-sha-256.sasl.jaas.config=(hidden), "
            "listener.name.a.ssl.keystore.key=(hidden), my.api.token=(hidden)"
        ),
    ]
