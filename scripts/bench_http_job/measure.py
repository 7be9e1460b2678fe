"""Three brokers side by side: without the HTTP side, with it, and with it while somebody watches."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from scripts.bench_job.brokers import timed_start

WITHOUT, WITH, WATCHED = "without", "with it", "watched"
TOPIC = "bench"
_PRODUCE_VERSION = 9
_EVERY_S = 0.001


class WithHttp(Pykbroker):
    """``pykbroker serve --http``."""

    def command(self) -> list[str]:
        return [*super().command(), "--http", "0"]

    @property
    def http(self) -> str:
        """Where it is, of the line that says that it is ready."""
        ready = self.log_file.read_text().rpartition("; HTTP at ")[2]
        return ready.split()[0]


class Times(NamedTuple):
    """Milliseconds."""

    p50: float
    p99: float


@dataclass
class Side:
    """One of the brokers, its client, and what was measured."""

    broker: Pykbroker
    client: Connection
    watched: bool
    rounds: list[list[float]] = field(default_factory=list)
    used_s: float = 0.0

    def turn(self, produces: int) -> None:
        watching = _watching(self.broker) if self.watched and isinstance(self.broker, WithHttp) else nullcontext()
        with watching:
            before = self.broker.cpu_seconds()
            self.rounds.append(_produce(self.client, produces))
            self.used_s += self.broker.cpu_seconds() - before


def main(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-http-") as made, ExitStack() as running:
        folder = Path(made)
        _starts(folder, given.starts)
        brokers = {WITHOUT: Pykbroker(folder / "a"), WITH: WithHttp(folder / "b"), WATCHED: WithHttp(folder / "c")}
        sides = {}
        for name, broker in brokers.items():
            client = running.enter_context(_served(broker, given.partitions))
            _produce(client, given.produces)  # modules are imported
            sides[name] = Side(broker, client, name == WATCHED)
        for number in range(given.rounds):
            for name in _from(list(sides), number):
                sides[name].turn(given.produces)
        _say_times(sides)
        _say_use(sides, given.rounds * given.produces)
    return 0


@contextmanager
def _served(broker: Pykbroker, partitions: int) -> Iterator[Connection]:
    broker.start()
    try:
        client = Connection(broker.bootstrap)
        _create(client, partitions)
        yield client
    finally:
        broker.stop()


def _starts(folder: Path, rounds: int) -> None:
    """From the call to the first answer, the two in turn."""
    found: dict[str, list[tuple[float, float]]] = {WITHOUT: [], WITH: []}
    for number in range(rounds + 1):
        for name, kind in ((WITHOUT, Pykbroker), (WITH, WithHttp)):
            broker = kind(folder / f"{name}-{number}")
            took = timed_start(broker)
            if number:  # the first brings everything into the page cache
                found[name].append((took, broker.cpu_seconds()))
            broker.stop()
    for name, times in found.items():
        took, used = (statistics.median(each[part] for each in times) for part in (0, 1))
        aim = "; wanted: below 0.35 s" if name == WITH else ""
        print(f"{took:9.2f} s   start {name} ({used:.2f} s of processor time{aim})", flush=True)


@contextmanager
def _watching(broker: WithHttp) -> Iterator[None]:
    command = [sys.executable, "-m", "scripts.bench_http_job.watching", broker.http, TOPIC]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert watcher.stdout is not None
    try:
        if watcher.stdout.readline() != b"watching\n":
            raise RuntimeError("the watcher did not come as far as to watch")
        yield
    finally:
        watcher.communicate()


def _create(client: Connection, partitions: int) -> None:
    topics = [CreatableTopic(TOPIC, 1, 1), CreatableTopic("others", max(partitions - 1, 1), 1)]
    answer = client.ask(CreateTopicsRequest(topics, 60_000), 7)
    assert not any(each.error_code for each in answer.topics), answer  # type: ignore[attr-defined]


def _produce(client: Connection, count: int) -> list[float]:
    """Milliseconds from the moment at which each of so many produces of one record was due to its answer: one that has to wait
    for the one before waits in this number, too.
    """
    records = bytes(encode_batch([Record(timestamp=0, value=b"x" * 100)], base_offset=0))
    partition = PartitionProduceData(0, records)
    request = ProduceRequest(
        acks=1, timeout_ms=60_000, topic_data=[TopicProduceData(TOPIC, partition_data=[partition])]
    )
    frame = bytearray()
    encode_request_header(frame, RequestHeader(ProduceRequest.API_KEY, _PRODUCE_VERSION, 1, "bench"))
    request.encode(frame, _PRODUCE_VERSION)
    sent = bytes(frame)
    times: list[float] = []
    now = time.perf_counter
    due = now()
    for _ in range(count):
        due += _EVERY_S
        begun = due
        early = due - now()
        if early > 0:
            time.sleep(early)
            begun = now()  # how long this process oversleeps is not the broker's
        client.send_raw(sent)
        client.receive_raw()
        times.append((now() - begun) * 1e3)
    return times


def _from(names: list[str], number: int) -> list[str]:
    """In another order each round: who comes after whom makes a difference."""
    begin = number % len(names)
    return names[begin:] + names[:begin]


def _times(all_of_them: list[float]) -> Times:
    ordered = sorted(all_of_them)
    return Times(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100])


def _say_times(sides: dict[str, Side]) -> None:
    base = [_times(each) for each in sides[WITHOUT].rounds]
    for name, side in sides.items():
        times = [_times(each) for each in side.rounds]
        together = _times([each for some in side.rounds for each in some])
        p50, p99 = (
            statistics.median(one[part] / other[part] for one, other in zip(times, base, strict=True))
            for part in (0, 1)
        )
        aim = "; wanted: p99 below 1.10" if name == WATCHED else ""
        print(
            f"{together.p50:9.3f} ms  p50, {together.p99:.3f} ms p99 of a produce {name}"
            f" (median of the rounds: {p50:.2f} and {p99:.2f} times{aim})"
        )


def _say_use(sides: dict[str, Side], produces: int) -> None:
    base = sides[WITHOUT]
    for name, side in sides.items():
        times = side.used_s / base.used_s if base.used_s else 1.0
        print(
            f"{side.used_s / produces * 1e6:9.1f} µs  processor time of the broker per produce {name} ({times:.2f} times)"
        )
    for name, side in sides.items():
        memory = side.broker.memory_mb()
        print(f"{memory:9.1f} MB  memory {name} ({memory - base.broker.memory_mb():+.1f}; wanted: below 30 more)")
