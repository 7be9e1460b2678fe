"""The old way of finding offsets (``useDeprecatedOffsetFetching``): the driver joins a consumer group to learn them.

It asks FindCoordinator, JoinGroup, SyncGroup, OffsetFetch and LeaveGroup of the broker, which the admin path does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.spark.kafka_source import KafkaSource, places, values
from compat_tests.spark.topics import Topics

SETTING = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
BASE = (int(time.time()) - 3600) * 1000  # epoch ms


@pytest.fixture(scope="module")
def source(source: KafkaSource) -> Iterator[KafkaSource]:
    source.spark.conf.set(SETTING, "true")
    yield source
    source.spark.conf.unset(SETTING)


@pytest.fixture
def topic(topics: Topics) -> str:
    name = topics.create(2)
    for partition in range(2):
        topics.send(name, range(10), partition, timestamps=[BASE + 1000 * number for number in range(10)])
    return name


def test_batch(source: KafkaSource, topic: str) -> None:
    assert values(places(source.batch(subscribe=topic))) == [*map(str, range(10))] * 2


def test_batch_by_timestamp(source: KafkaSource, topic: str) -> None:
    frame = source.batch(subscribe=topic, startingTimestamp=BASE + 2500, endingTimestamp=BASE + 5000)
    assert values(places(frame)) == ["3", "4"] * 2


def test_batch_by_pattern_and_assign(source: KafkaSource, topic: str) -> None:
    assert len(places(source.batch(subscribePattern=f"{topic}|__consumer_offsets"))) == 20
    assert len(places(source.batch(assign={topic: [1]}, startingOffsets={topic: {"1": 4}}))) == 6


def test_stream_with_a_group_of_its_own(source: KafkaSource, topics: Topics, topic: str, tmp_path: Path) -> None:
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 8, "kafka_group_id": topic}
    assert [report["numInputRows"] for report in source.drain(tmp_path, **options)] == [8, 8, 4]
    topics.send(topic, ["more"], 1)
    assert [report["numInputRows"] for report in source.drain(tmp_path, **options)] == [1]
    assert len(source.stored(tmp_path)) == 21
