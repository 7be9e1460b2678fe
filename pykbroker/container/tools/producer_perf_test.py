"""``kafka-producer-perf-test``: the throughput of a producer. This client is in Python, with one thread."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.producer import Producer
from pykbroker.container.tools.perf_stats import SendStats
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect_by, name_and_value, settings
from pykbroker.wire.records import Compression, Record

_ACKS: Final = {"0": 0, "1": 1, "-1": -1, "all": -1}
_BATCH_SIZE: Final = 16_384
_LETTERS: Final = 26
#: With --throughput, no batch has more records than this many seconds allow.
_LONGEST_S: Final = 0.1


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    _check(options)
    given = settings(options.command_config) | dict(map(name_and_value, options.producer_props or []))
    acks, codec = given.get("acks", "all"), given.get("compression.type", "none").upper()
    if acks not in _ACKS or codec not in Compression.__members__:
        raise ToolError(f"acks are one of {', '.join(_ACKS)}, and compression.type none, gzip, snappy, lz4 and zstd.")
    values = _values(options)
    with connect_by(given, options.bootstrap_server or given.get("bootstrap.servers")) as client:
        producer = Producer(client, acks=_ACKS[acks], compression=Compression[codec])
        _run(client, producer, options, values, _batch_size(given))


def _options() -> Options:
    made = Options("kafka-producer-perf-test", "Say how fast a cluster takes records from this client.")
    made.connecting("--command-config", "--producer.config", also=())
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--num-records", metavar="N", type=int)
    made.add_argument("--throughput", metavar="N", type=float, help="records a second at most; -1 for all it can")
    made.add_argument("--record-size", metavar="BYTES", type=int, help="random letters of this size")
    made.add_argument("--payload-file", metavar="FILE", help="values are taken from it")
    made.add_argument("--payload-delimiter", metavar="TEXT", default="\\n", help="between the values of the file")
    made.add_argument("--payload-monotonic", action="store_true", help="values are numbers, from 0 on")
    made.add_argument("--command-property", "--producer-props", dest="producer_props", nargs="+", metavar="NAME=VALUE",
                      help="bootstrap.servers, acks, compression.type, batch.size and how to connect count")  # fmt: skip
    made.add_argument("--reporting-interval", metavar="MS", type=int, default=5_000)
    return made


def _check(options: argparse.Namespace) -> None:
    """Raises ToolError for options that exclude or require each other."""
    for name in ("topic", "num_records", "throughput"):
        if getattr(options, name) is None:
            raise ToolError(f"argument --{name.replace('_', '-')} is required")
    kinds = (options.record_size is not None, options.payload_file is not None, options.payload_monotonic)
    if kinds.count(True) != 1:
        raise ToolError("You must provide exactly one of --record-size, --payload-file or --payload-monotonic.")
    for name in ("num_records", "record_size", "reporting_interval"):
        number = getattr(options, name)
        if number is not None and number <= 0:
            raise ToolError(f"--{name.replace('_', '-')} should be greater than zero.")


def _batch_size(given: Mapping[str, str]) -> int:
    text = given.get("batch.size", str(_BATCH_SIZE))
    if not text.isdecimal():
        raise ToolError(f"batch.size={text}: it is a number of bytes.")
    return int(text)


def _values(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield values without end. Raises ToolError and OSError."""
    source = random.Random(0)  # the same values in each run, as in Kafka's command
    if options.payload_monotonic:
        return (str(number).encode() for number in range(options.num_records))
    if options.payload_file is None:
        return iter(lambda: bytes(65 + source.randrange(_LETTERS) for _ in range(options.record_size)), None)
    path = Path(options.payload_file)
    print_lines(f"Reading payloads from: {path.absolute()}")
    if not path.exists() or not path.stat().st_size:
        raise ToolError("File does not exist or empty file provided.")
    between = "\n" if options.payload_delimiter == "\\n" else options.payload_delimiter
    found = [part.encode() for part in path.read_text(encoding="utf-8").rstrip(between).split(between)]
    print_lines(f"Number of records read: {len(found)}")
    return iter(lambda: source.choice(found), None)


def _run(
    client: Client, producer: Producer, options: argparse.Namespace, values: Iterator[bytes], batch_size: int
) -> None:
    partitions = [
        TopicPartition(options.topic, each.partition_index)
        for each in client.topic(options.topic, create=True).partitions
    ]
    clock = client.clock
    rate = options.throughput if options.throughput > 0 else None
    begin = clock.monotonic()
    stats = SendStats(begin, options.reporting_interval / 1000)
    batches = 0
    while stats.records < options.num_records:
        most = options.num_records - stats.records
        if rate is not None:
            most = min(most, max(int(rate * _LONGEST_S), 1))
        sent = clock.monotonic()
        records = _batch(values, most, batch_size, clock.now_ms())
        producer.send(partitions[batches % len(partitions)], records)
        batches += 1
        now = clock.monotonic()
        stats.add(len(records), sum(len(record.value or b"") for record in records), now - sent)
        if (line := stats.due(now)) is not None:
            print_lines(line, flush=True)
        if rate is not None:
            time.sleep(max(begin + stats.records / rate - clock.monotonic(), 0))
    print_lines(stats.total(clock.monotonic()))


def _batch(values: Iterator[bytes], most: int, size: int, now_ms: int) -> list[Record]:
    """Return at least one record, and at most the bytes of a batch."""
    records: list[Record] = []
    room = size
    while len(records) < most and (room > 0 or not records):
        record = Record(timestamp=now_ms, value=next(values))
        records.append(record)
        room -= len(record.value or b"")
    return records
