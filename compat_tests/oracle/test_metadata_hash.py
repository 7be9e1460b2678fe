"""The hash by which a consumer group knows its topics is Apache Kafka's: read out of the records that it wrote."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.cases.consumer_groups import joins
from compat_tests.oracle.group_records import records_in
from compat_tests.oracle.requests import Ask
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from pykbroker.wire.internal.consumer_group_metadata import ConsumerGroupMetadataKey
from pykbroker.wire.internal.coordinator import decode_coordinator_key, decode_coordinator_value
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

_OFFSETS, _PARTITIONS = "__consumer_offsets", 5


def written_hash(ask: Ask, group: str) -> int:
    """The hash in the last epoch record of a group."""
    for _ in range(500):
        for index in range(_PARTITIONS):
            topics = [FetchTopic(_OFFSETS, partitions=[FetchPartition(index, -1, 0, partition_max_bytes=50_000_000)])]
            answer = ask.quietly(FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=50_000_000, topics=topics), 11)
            found = [
                decode_coordinator_value(key, record.value).metadata_hash
                for record in records_in(bytes(answer.responses[0].partitions[0].records or b""))
                if record.value is not None
                and isinstance(key := decode_coordinator_key(record.key), ConsumerGroupMetadataKey)
                and key.group_id == group
            ]
            if found:
                return found[-1]
        time.sleep(0.02)
    raise AssertionError(f"no epoch of {group} was written")


def image_of(topics: dict[str, tuple[bytes, int]], rack: str | None) -> MetadataImage:
    image = MetadataImage()
    image.brokers[1] = BrokerImage(1, 1, bytes(16), {}, {}, rack, fenced=False)
    for name, (topic_id, count) in topics.items():
        partitions = {index: PartitionImage(index, [1], [1], 1, 0, 0, []) for index in range(count)}
        image.topics[name] = TopicImage(name, topic_id, partitions)
    return image


@pytest.mark.parametrize("rack", [None, "a rack"])
def test_the_same_hash(tmp_path: Path, rack: str | None) -> None:
    kafka = ApacheKafka(tmp_path, {} if rack is None else {"broker.rack": rack})
    kafka.start()
    ask = Ask(kafka.bootstrap, 1, "hash")
    try:
        ask.wait_for_coordinators()
        counts = {ask.topic("one", 1): 1, ask.topic("seven", 7): 7, ask.topic("sixty", 60): 60}
        image = image_of({name: (ask.topic_ids[name], count) for name, count in counts.items()}, rack)
        for number, topics in enumerate(([*counts][:1], [*counts][1:2], [*counts], [*counts, "missing"])):
            group = ask.name(f"group-{number}")
            assert ask.quietly(joins(group, "m", *topics), 1).error_code == 0
            assert written_hash(ask, group) == metadata_hash(topics, image)
    finally:
        ask.close()
        kafka.stop()
