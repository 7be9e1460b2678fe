"""Job and broker are killed while records are written; then the lake has each record once, and no files of Spark's remain.

They are killed LAKE_KILLS times (1 unless set). LAKE_RECORDS records (2,000 unless set) exist before: with all codecs, headers, null keys
and null values, in transactions of which every other one is aborted. With PYKBROKER_LONG, the lake is also replayed and archived again.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from compat_tests.conftest import LONG
from compat_tests.harness.process import BrokerProcess
from compat_tests.lake.killing import Killing
from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.description import Format
from wire.batch_header import iter_batches

KILLS = int(os.environ.get("LAKE_KILLS", "1"))
RECORDS = int(os.environ.get("LAKE_RECORDS", "2000"))
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LIMIT_S = 240 + RECORDS // 1000


def fill(bootstrap: str, topic: str, records: int) -> int:
    """Write this many records to three partitions; returns the number of committed ones."""
    producers = [
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-{codec}", "compression.type": codec})
        for codec in CODECS
    ]
    for producer in producers:
        producer.init_transactions(60)
    size = min(10_000, records // 20)
    committed = 0
    for number, begin in enumerate(range(0, records, size)):
        producer = producers[number % len(producers)]
        producer.begin_transaction()
        for each in range(begin, min(begin + size, records)):
            producer.produce(
                topic,
                None if each % 7 == 0 else b"value %d" % each,
                None if each % 4 == 0 else b"key %d" % (each % 1000),
                partition=each % 3,
                headers=[("a", b"%d" % each), ("a", None)] if each % 2 else None,
            )
            if each % 1000 == 0:
                producer.poll(0)
        assert producer.flush(LIMIT_S) == 0
        if number % 2:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            committed += min(begin + size, records) - begin
    return committed


def codecs(data_dir: Path, topic: str) -> set[str]:
    """The codecs of the batches in the files of a broker, without control batches."""
    found: set[str] = set()
    for file in data_dir.glob(f"{topic}-*/*.log"):
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            headers = (header for _, header in iter_batches(data))
            found |= {header.compression.name.lower() for header in headers if not header.is_control}
    return found


def forms(rows: DataFrame) -> Row:
    """The number of rows with each property that is easily lost."""
    with_null = f.exists("headers", lambda header: header["value"].isNull())
    forms = {name: f.col(name).isNull() for name in ("key", "value", "headers")} | {"header": with_null}
    found = rows.agg(*(f.count_if(each).alias(name) for name, each in forms.items())).first()
    assert found is not None
    return found


class Publisher(threading.Thread):
    """Writes transactions of five records to three partitions until it is stopped, and aborts every third one."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.committed = 0
        self._topic = topic
        self._stopped = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "transactional.id": topic,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        self._producer = Producer(settings)

    def run(self) -> None:
        self._producer.init_transactions(60)
        number = 0
        while not self._stopped.wait(0.02):
            self._producer.begin_transaction()
            for record in range(5):
                self._producer.produce(self._topic, b"%d" % (number + record), partition=record % 3)
            if number % 3:
                self._until_done(self._producer.commit_transaction)
                self.committed += 5
            else:
                self._until_done(self._producer.abort_transaction)
            number += 5

    def _until_done(self, step: Callable[[float], None]) -> None:
        from confluent_kafka import KafkaException

        while True:
            try:
                return step(10)
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def stop(self) -> None:
        self._stopped.set()
        self.join(60)


def test_every_record_is_there_once_after_kills(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    broker = start_target()
    topics = Topics(broker.bootstrap)
    topic = topics.create(3)
    filled = fill(broker.bootstrap, topic, RECORDS)
    assert filled == RECORDS // 2
    assert codecs(broker.data_dir, topic) == set(CODECS)
    publisher = Publisher(broker.bootstrap, topic)
    publisher.start()
    killing = Killing(broker, topic, tmp_path, max(60, RECORDS // 20), LIMIT_S)
    for _ in range(KILLS):
        killing.kill()
    publisher.stop()
    killing.sweep()
    workshop = Workshop(spark, broker.bootstrap, killing.lake, Format.PARQUET)
    workshop.archive(topic)
    rows = workshop.lake.read().where(f"topic = '{topic}'")
    assert rows.count() == rows.select("partition", "offset").distinct().count() == filled + publisher.committed
    assert all(forms(rows)), forms(rows)
    report = workshop.verify()
    assert report.is_equal, report
    if LONG:
        assert workshop.replayed_and_archived(start_target().bootstrap, tmp_path / "again").sums() == workshop.sums()
