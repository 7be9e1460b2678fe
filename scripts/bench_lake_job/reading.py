"""One topic in segments of 16 MiB, read by Spark's sources."""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness.ours import Pykbroker
from scripts.bench_lake_job.commits import commits
from scripts.bench_lake_job.comparing import Comparison
from scripts.bench_lake_job.decoding import ways
from scripts.bench_lake_job.jobs import Jobs
from scripts.bench_lake_job.many_topics import many_topics

_TOPIC = "bench"
_PARTITIONS = 4
_DISTINCT = 4096


def main(given: argparse.Namespace) -> int:
    if given.commits:
        commits(given)
        return 0
    if given.topics:
        many_topics(given)
        return 0
    with tempfile.TemporaryDirectory(prefix="bench-lake-") as folder:
        broker = Pykbroker(
            Path(folder), {"log.flush.offset.checkpoint.interval.ms": "100", "log.initial.task.delay.ms": "0"}
        )
        broker.start()
        try:
            _fill(broker.bootstrap, given)
            _await_noted(broker.data_dir, given.records)
            print(f"{given.records:,} records of {given.value_bytes} bytes, {given.codec}, {given.cores} cores\n")
            if given.jobs:
                Jobs(broker, given, _TOPIC).run()
                return 0
            Comparison(broker, given, _TOPIC, _PARTITIONS).run()
        finally:
            broker.stop()
        ways(broker.data_dir / f"{_TOPIC}-0")
    return 0


def _fill(bootstrap: str, given: argparse.Namespace) -> None:
    settings = {"segment.bytes": str(16 << 20)}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(_TOPIC, _PARTITIONS, 1, config=settings)])[_TOPIC].result(30)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": given.codec,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    chance = random.Random(1)
    words = [f"{chance.randrange(1 << 40):x}" for _ in range(200)]
    values = [json.dumps({"id": number, "words": chance.choices(words, k=given.value_bytes // 11)}).encode().ljust(given.value_bytes)[: given.value_bytes] for number in range(_DISTINCT)]  # fmt: skip
    for number in range(given.records):
        producer.produce(
            _TOPIC, values[number % _DISTINCT], b"key-%d" % (number % 1000), partition=number % _PARTITIONS
        )
        if number % 50_000 == 0:
            producer.flush(60)
    producer.flush(60)


def _await_noted(data: Path, records: int) -> None:
    noted = data / "replication-offset-checkpoint"
    total = 0
    while total != records:
        time.sleep(0.1)
        lines = noted.read_text().splitlines()[2:] if noted.exists() else []
        total = sum(int(line.split()[2]) for line in lines if line.startswith(f"{_TOPIC} "))
