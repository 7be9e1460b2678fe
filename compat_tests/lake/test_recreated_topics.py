"""A topic that is deleted and made anew while the direct source follows it, in the folder of a broker that runs. It needs no Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructType

from compat_tests.harness.process import BrokerProcess
from compat_tests.spark.topics import Topics
from pykbroker.lake.direct.source import Segments, SegmentsStream
from pykbroker.lake.errors import DataLost

#: The brokers write the high watermark at once: not after five seconds (Apache Kafka) or a minute.
NOTING = {
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.initial.task.delay.ms": "0",
}
VALUE = StructType().add("value", BinaryType())
LIMIT_S = 150


def stream(broker: BrokerProcess, topic: str, **options: str) -> SegmentsStream:
    """As Spark creates one at each start of a query."""
    given = {"path": str(broker.data_dir), "subscribe": topic, "startingOffsets": "earliest", **options}
    found = Segments(given).streamReader(VALUE)
    assert isinstance(found, SegmentsStream)
    return found


def values(reader: SegmentsStream, pieces: list[Any]) -> list[bytes]:
    return [row["value"] for piece in pieces for rows in reader.read(piece) for row in rows.to_pylist()]


def noted(reader: SegmentsStream, topic: str, end: int) -> dict[str, Any]:
    """The position with this offset, through the JSON of Spark's checkpoint, once the broker has written its high watermark."""
    deadline = time.monotonic() + LIMIT_S
    while (found := reader.latestOffset())[topic] != {"0": end}:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return dict(json.loads(json.dumps(found)))


def test_it_is_told_and_never_mixed_with_the_old_one(start_target: Callable[..., BrokerProcess]) -> None:
    broker = start_target(NOTING)
    topics = Topics(broker.bootstrap)
    topic = topics.create()
    topics.send(topic, ["old"] * 3)
    reader = stream(broker, topic)
    begin, old = reader.initialOffset(), noted(reader, topic, 3)
    planned = reader.partitions(begin, old)
    assert values(reader, planned) == [b"old"] * 3

    topics.delete(topic)
    topics.create(name=topic)
    topics.send(topic, ["new"] * 5)  # more than the old one had: offsets alone do not tell
    reader = stream(broker, topic)
    new = noted(reader, topic, 5)
    anew = (
        f"{topic}-0: the stream has read the offsets before 3 of the topic with the id {old['topic ids'][topic]}, and "
    )
    with pytest.raises(DataLost, match=anew):
        reader.partitions(old, new)
    with pytest.raises(
        DataLost, match="it was deleted and made anew"
    ):  # a batch that was planned before and did not end
        reader.partitions(begin, old)
    with pytest.raises(DataLost, match="when the query was planned: the topic was deleted and made anew"):
        values(reader, planned)

    reader = stream(broker, topic, failOnDataLoss="false")
    assert values(reader, planned) == []
    assert values(reader, reader.partitions(begin, old)) == []
    assert values(reader, reader.partitions(old, new)) == [b"new"] * 5
