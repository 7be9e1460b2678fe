"""The hash of a group's topics. That it is Kafka's is shown in compat_tests/oracle; here one such value is kept."""

from dataclasses import replace

import pytest

from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage


def image(partitions: int = 2, *, topic_id: bytes = bytes(range(16)), rack: str | None = None) -> MetadataImage:
    made = MetadataImage()
    made.brokers[1] = BrokerImage(1, 1, bytes(16), {}, {}, rack, fenced=False)
    made.brokers[2] = replace(made.brokers[1], id=2, rack=rack and rack + "2")
    for name in ("t", "u"):
        indexes = {index: PartitionImage(index, [2, 1], [1], 1, 0, 0, []) for index in range(partitions)}
        made.topics[name] = TopicImage(name, topic_id, indexes)
    return made


def test_nothing_to_hash_is_zero():
    assert metadata_hash([], image()) == metadata_hash(["gone"], image()) == 0


def test_topics_that_are_gone_do_not_count():
    assert metadata_hash(["t", "gone"], image()) == metadata_hash(["t"], image())


def test_the_order_of_the_topics_does_not_matter():
    assert metadata_hash(["u", "t"], image()) == metadata_hash(["t", "u"], image())


@pytest.mark.parametrize(
    ("topics", "other"),
    [
        (["u"], image()),
        (["t", "u"], image()),
        (["t"], image(3)),
        (["t"], image(topic_id=bytes(16))),
        (["t"], image(rack="r")),
    ],
)
def test_what_changes_it(topics, other):
    assert metadata_hash(topics, other) != metadata_hash(["t"], image())


def test_it_stays_what_it_was():
    """A value that changes means a rebalance of every group at the next start."""
    assert metadata_hash(["t"], image()) == 6_180_293_047_772_066_622
