"""Checkpoints: a stream that was stopped, killed with its process, or bereft of its broker goes on where it was.

The sink is Parquet, which Spark writes exactly once: a record lost or read twice shows as a wrong list of places.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.spark.kafka_source import KafkaSource, await_that, batches, run
from compat_tests.spark.topics import Topics

STREAM = Path(__file__).parent / "slow_stream.py"


def offsets(source: KafkaSource, folder: Path) -> list[tuple[int, int]]:
    return [(place.partition, place.offset) for place in source.stored(folder)]


def all_offsets(partitions: int, records: int) -> list[tuple[int, int]]:
    return [(partition, offset) for partition in range(partitions) for offset in range(records)]


def fill(topics: Topics, topic: str, partitions: int, start: int, stop: int) -> None:
    for partition in range(partitions):
        topics.send(topic, range(start, stop), partition)


def test_a_stopped_stream_goes_on(source: KafkaSource, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(2)
    fill(topics, topic, 2, 0, 50)
    stream = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=10)
    query = run(stream, tmp_path, processingTime="10 milliseconds")
    await_that(lambda: len(batches(query)) >= 2, query)
    query.stop()  # most likely inside a batch
    fill(topics, topic, 2, 50, 60)
    # Another starting offset is ignored where there is a checkpoint.
    source.drain(tmp_path, subscribe=topic, startingOffsets="latest")
    assert offsets(source, tmp_path) == all_offsets(2, 60)


def test_a_driver_killed_inside_a_batch(source: KafkaSource, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(2)
    fill(topics, topic, 2, 0, 400)
    driver = subprocess.Popen(
        [sys.executable, str(STREAM), source.bootstrap, topic, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    commits = tmp_path / "checkpoint" / "commits"
    deadline = time.monotonic() + 150
    try:
        while not (commits / "2").exists():
            assert driver.poll() is None, "the driver ended by itself"
            assert time.monotonic() < deadline, "the driver did not commit three batches"
            time.sleep(0.02)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)  # Python and its JVM
        driver.wait()
    before = len(source.stored(tmp_path))
    assert 0 < before < 800
    source.drain(tmp_path, subscribe=topic, startingOffsets="earliest")
    assert offsets(source, tmp_path) == all_offsets(2, 400)


def test_a_broker_killed_under_a_stream(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    broker = start_target()
    topics, source = Topics(broker.bootstrap), KafkaSource(spark, broker.bootstrap)
    topic = topics.create(2)
    fill(topics, topic, 2, 0, 300)
    stream = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=40)
    query = run(stream, tmp_path, processingTime="100 milliseconds")
    try:
        await_that(lambda: len(batches(query)) >= 2, query)
        broker.kill()
        broker.start()
        fill(topics, topic, 2, 300, 350)
        await_that(lambda: sum(report["numInputRows"] for report in batches(query)) >= 700, query, 90)
    finally:
        query.stop()
    assert offsets(source, tmp_path) == all_offsets(2, 350)


def test_a_broker_killed_between_two_runs(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    broker = start_target()
    topics, source = Topics(broker.bootstrap), KafkaSource(spark, broker.bootstrap)
    topic = topics.create(2)
    fill(topics, topic, 2, 0, 100)
    source.drain(tmp_path, subscribe=topic, startingOffsets="earliest")
    fill(topics, topic, 2, 100, 130)  # acknowledged, so they must be there afterwards
    broker.kill()
    broker.start()
    source.drain(tmp_path, subscribe=topic, startingOffsets="earliest")
    assert offsets(source, tmp_path) == all_offsets(2, 130)


def test_a_broker_killed_under_a_batch_write(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    """Spark's producers are idempotent and try again: every row is there once, although the broker died between."""
    broker = start_target()
    topics = Topics(broker.bootstrap)
    topic = topics.create(3)
    rows = 60_000
    frame = spark.range(0, rows, numPartitions=2).selectExpr(
        "CAST(id AS STRING) AS key", "concat(id, repeat('.', 200)) AS value"
    )
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "kafka.batch.size": "2000"}
    with ThreadPoolExecutor(1) as background:
        written = background.submit(frame.write.format("kafka").options(**options).save)
        deadline = time.monotonic() + 150
        while topics.latest(topic) == 0:
            assert not written.done(), "the write was over before the broker could be killed"
            assert time.monotonic() < deadline, "nothing was written"
        broker.kill()
        before_end = not written.done()
        broker.start()
        written.result(timeout=120)
    assert before_end, "the write was over before the broker was killed"
    found = sorted(int((message.value() or b"").rstrip(b".")) for message in topics.receive(topic))
    assert found == list(range(rows))
