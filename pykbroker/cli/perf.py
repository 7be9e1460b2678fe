"""``pykbroker perf``: throughput and latency of a cluster, measured by one client in Python."""

from __future__ import annotations

import random
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names
from pykbroker.cli.latencies import PERCENTILES, summary
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.produce import ACKS, Acks, Codec
from pykbroker.cli.progress import ProgressLine
from pykbroker.cli.sizes import format_size
from pykbroker.cli.start_position import end_offsets
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, refusal
from pykbroker.client.fetcher import Fetcher
from pykbroker.client.offsets import EARLIEST, TopicPartition, list_offsets
from pykbroker.client.producer import Producer
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.records import Compression, Record

app = typer.Typer(
    help="Measure how fast records go in and out. It measures this client too, which is Python and has one thread.",
    no_args_is_help=True,
)

_POLL_S = 0.5
_LONGEST_PAUSE_S = 0.1  # most seconds between requests at a limited rate; they get smaller for it, down to one record
_LARGEST_REQUEST = 900_000  # below the default of max.message.bytes, about a million
_OVERHEAD = 20  # most bytes of a record beside its value
_MOST_VALUES = 1000

Topic = Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=topic_names)]
Count = Annotated[int, typer.Option("--records", "-n", min=1, metavar="N", help="How many records.")]
Seconds = Annotated[
    float | None, typer.Option("--seconds", min=0.1, metavar="S", help="Stop after this time, even with fewer.")
]


@dataclass(frozen=True)
class RecordOptions:
    """What is written, and how."""

    size: Annotated[int, typer.Option("--size", min=0, max=10_000_000, help="Bytes of each value.")] = 100
    batch: Annotated[
        int,
        typer.Option("--batch", min=1, max=100_000, help="Records per request, within max.message.bytes."),
    ] = 500
    rate: Annotated[
        float | None, typer.Option("--rate", min=0.001, help="Most records per second; else as fast as possible.")
    ] = None
    compression: Annotated[Codec, typer.Option("--compression", "-z", help="Compression of batches.")] = Codec.NONE
    acks: Annotated[Acks, typer.Option("--acks", help="Acknowledgements to wait for.")] = Acks.ALL
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random values.")] = 0


@app.command()
@with_option_values
def produce(
    topic: Topic,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    records: Count = 100_000,
    seconds: Seconds = None,
    written: RecordOptions,
) -> None:
    """Write random records, one request after the other, and report throughput and request latencies."""
    out = Output(as_json=as_json)
    batch = request_records(written.batch, written.size, written.rate)
    values = _values(written.size, min(batch, _MOST_VALUES), written.seed)
    with at.connect() as client:
        try:
            partitions = [TopicPartition(topic, p.partition_index) for p in client.topic(topic).partitions]
            producer = Producer(client, acks=ACKS[written.acks], compression=Compression[written.compression.name])
            found = _produce(client, producer, partitions, values, records, batch, written.rate, seconds)
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {topic}", error)) from error
    _show(out, found, "written")


def request_records(wanted: int, size: int, rate: float | None) -> int:
    """Return the records per request: as many as wanted, fewer for large records or a low rate."""
    most = _LARGEST_REQUEST // (size + _OVERHEAD)
    if rate is not None:
        most = min(most, int(rate * _LONGEST_PAUSE_S))
    return max(min(wanted, most), 1)


def _values(size: int, count: int, seed: int) -> list[bytes]:
    """Return distinct values, as compressible as random bytes are."""
    source = random.Random(seed)
    return [source.randbytes(size) for _ in range(count)]


def _produce(
    client: Client,
    producer: Producer,
    partitions: list[TopicPartition],
    values: list[bytes],
    wanted: int,
    batch: int,
    rate: float | None,
    limit_s: float | None,
) -> dict[str, Any]:
    clock, progress = client.clock, ProgressLine(client.clock)
    written, size = 0, 0
    latencies: list[float] = []
    begin = clock.monotonic()
    with suppress(KeyboardInterrupt):  # report what was measured until Ctrl-C
        while written < wanted and (limit_s is None or clock.monotonic() - begin < limit_s):
            count = min(batch, wanted - written)
            now_ms = clock.now_ms()
            records = [Record(timestamp=now_ms, value=values[(written + i) % len(values)]) for i in range(count)]
            sent = clock.monotonic()
            producer.send(partitions[len(latencies) % len(partitions)], records)
            latencies.append(clock.monotonic() - sent)
            written += count
            size += sum(len(record.value or b"") for record in records)
            if rate is not None:
                time.sleep(max(begin + written / rate - clock.monotonic(), 0))
            progress.tell(f"{written} of {wanted} records, {written / (clock.monotonic() - begin):.0f} records/s")
    progress.done()
    return summary(written, size, clock.monotonic() - begin, latencies)


@app.command()
@with_option_values
def consume(
    topic: Topic,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    records: Annotated[
        int | None, typer.Option("--records", "-n", min=1, metavar="N", help="Records to read; else up to the end.")
    ] = None,
    seconds: Seconds = None,
) -> None:
    """Read a topic from its beginning to its current end; latencies are those between two responses."""
    out = Output(as_json=as_json)
    with at.connect() as client, closing(Fetcher(client)) as fetcher:
        try:
            partitions = [TopicPartition(topic, p.partition_index) for p in client.topic(topic).partitions]
            ends = end_offsets(client, partitions)
            fetcher.assign(list_offsets(client, dict.fromkeys(partitions, EARLIEST)))
            found = _consume(client, fetcher, ends, records, seconds)
        except KafkaError as error:
            raise ClientError(refusal(f"Topic {topic}", error)) from error
    _show(out, found, "read")


def _consume(
    client: Client, fetcher: Fetcher, ends: dict[TopicPartition, int], wanted: int | None, limit_s: float | None
) -> dict[str, Any]:
    clock, progress = client.clock, ProgressLine(client.clock)
    read, size = 0, 0
    latencies: list[float] = []
    begin = clock.monotonic()
    with suppress(KeyboardInterrupt):
        while (
            any(fetcher.positions[p] < end for p, end in ends.items())
            and (wanted is None or read < wanted)
            and (limit_s is None or clock.monotonic() - begin < limit_s)
        ):
            asked = clock.monotonic()
            for fetched in fetcher.poll(_POLL_S):
                read += len(fetched.records)
                size += sum(len(record.value or b"") for record in fetched.records)
            latencies.append(clock.monotonic() - asked)
            progress.tell(f"{read} records, {read / (clock.monotonic() - begin):.0f} records/s")
    progress.done()
    return summary(read, size, clock.monotonic() - begin, latencies)


def _show(out: Output, found: dict[str, Any], verb: str) -> None:
    if out.as_json:
        out.json(found)
        return
    rate, speed = found["records_per_s"], format_size(found["bytes_per_s"])
    out.line(
        f"{found['records']} records {verb} in {found['seconds']:g} s: {rate or 0:.0f} records/s, {speed or '0 B'}/s"
    )
    if found["max_ms"] is not None:
        shown = [f"p{percent} {found[f'p{percent}_ms']:.1f} ms" for percent in PERCENTILES]
        out.line(f"latency {', '.join(shown)}, longest {found['max_ms']:.1f} ms")
