"""Spark over topics with transactions, made with librdkafka: isolation levels, aborted and open ones, markers at the end.

Spark's sink has no transactions, so only its source is tested. A reader must get past offsets that hold no record for
it: markers always, aborted records with read_committed. One that does not waits until Spark gives the batch up.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from compat_tests.spark.kafka_source import KafkaSource, places, values
from compat_tests.spark.topics import Topics


class Transactions:
    """A transactional producer that writes to one partition."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self._producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-writer"})
        self._producer.init_transactions(30)

    def begin(self, *records: str) -> None:
        """Opens a transaction and writes into it; the records are in the broker when this returns."""
        self._producer.begin_transaction()
        for record in records:
            self._producer.produce(self.topic, record, partition=0)
        assert self._producer.flush(30) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(30)

    def abort(self) -> None:
        self._producer.abort_transaction(30)


@pytest.fixture
def writer(topics: Topics) -> Transactions:
    """Offsets: a b and a commit marker (0-2), c d aborted (3-5), e committed (6, 7)."""
    made = Transactions(topics.bootstrap, topics.create())
    made.begin("a", "b")
    made.commit()
    made.begin("c", "d")
    made.abort()
    made.begin("e")
    made.commit()
    return made


def committed(source: KafkaSource, topic: str, **options: object) -> list[str]:
    frame = source.batch(subscribe=topic, kafka_isolation_level="read_committed", **options)
    return values(places(frame))


def test_isolation_levels(source: KafkaSource, writer: Transactions) -> None:
    assert committed(source, writer.topic) == ["a", "b", "e"]
    assert values(places(source.batch(subscribe=writer.topic))) == ["a", "b", "c", "d", "e"]


def test_a_tail_of_nothing_but_aborted_records(source: KafkaSource, writer: Transactions, tmp_path: Path) -> None:
    writer.begin("f", "g", "h")
    writer.abort()
    assert committed(source, writer.topic) == ["a", "b", "e"]
    assert committed(source, writer.topic, startingOffsets={writer.topic: {"0": 8}}) == []
    options = {"subscribe": writer.topic, "startingOffsets": "earliest", "kafka_isolation_level": "read_committed"}
    source.drain(tmp_path, **options)
    writer.begin("i")
    writer.commit()
    source.drain(tmp_path, **options)
    assert values(source.stored(tmp_path)) == ["a", "b", "e", "i"]


def test_an_open_transaction_holds_the_end_back(source: KafkaSource, writer: Transactions, tmp_path: Path) -> None:
    writer.begin("f")
    options = {"subscribe": writer.topic, "startingOffsets": "earliest", "kafka_isolation_level": "read_committed"}
    (report,) = source.drain(tmp_path, **options)
    assert report["sources"][0]["endOffset"] == {writer.topic: {"0": 8}}  # the last stable offset
    writer.commit()
    source.drain(tmp_path, **options)
    assert values(source.stored(tmp_path)) == ["a", "b", "e", "f"]


def test_batches_of_offsets_that_hold_no_record(source: KafkaSource, writer: Transactions, tmp_path: Path) -> None:
    options = {"subscribe": writer.topic, "startingOffsets": "earliest", "kafka_isolation_level": "read_committed"}
    source.drain(tmp_path, **options, maxOffsetsPerTrigger=1)
    assert values(source.stored(tmp_path)) == ["a", "b", "e"]
