"""Measures a broker without the HTTP side and one with it, side by side: unwatched, and while the second one is watched.

A client produces to both in turn, half a millisecond apart, so that whatever the machine does concerns both; periods that
are watched take turns with others. Each period begins with a lead that is not counted: pages open and read what came
before, caches are filled. Ratios are of the same period; of all periods the median counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from scripts.bench_http_job import registry
from scripts.bench_http_job.pacing import Paced, Sent, produce
from scripts.bench_http_job.starts import starts
from scripts.bench_http_job.watcher import Watcher

T = TypeVar("T")

WITHOUT, WITH = "without", "with it"
UNWATCHED, WATCHED = "unwatched", "watched"
TOPIC = "bench"
_PRODUCE_VERSION = 9
#: Produces to each broker before each period: a second.
_LEAD = 1000


class WithHttp(Pykbroker):
    """``pykbroker serve --http``."""

    def command(self) -> list[str]:
        return [*super().command(), "--http", "0"]

    @property
    def http(self) -> str:
        """Return the address in the line that says that the broker is ready."""
        ready = self.log_file.read_text().rpartition("; HTTP at ")[2]
        return ready.split()[0]


class Part(NamedTuple):
    """Percentiles of one of these."""

    p50: float
    p99: float


@dataclass
class Periods:
    """One broker, watched or not: its produces, a list for each period."""

    sent: list[list[Sent]] = field(default_factory=list)
    #: Processor time of the broker in each period, in seconds.
    used_s: list[float] = field(default_factory=list)

    def add(self, sent: list[Sent], used_s: float) -> None:
        """Add a period."""
        self.sent.append(sent)
        self.used_s.append(used_s)

    def parts(self, what: int) -> list[Part]:
        """Return percentiles by period, of the times (0) or of the processor time (1)."""
        return [_part([sent[what] for sent in period]) for period in self.sent]

    def whole(self, what: int) -> Part:
        """Return percentiles of all periods together."""
        return _part([sent[what] for period in self.sent for sent in period])


class Side(Paced):
    """One broker under measurement."""

    def __init__(self, broker: Pykbroker, client: Connection) -> None:
        super().__init__(client, broker.pid)
        self.broker = broker
        self.periods = {UNWATCHED: Periods(), WATCHED: Periods()}


def main(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-http-") as made, ExitStack() as running:
        folder = Path(made)
        if given.registry:
            registry.measure(folder, given.starts, given.requests)
            return 0
        for name, (took, used, _) in starts(folder, given.starts, {WITHOUT: Pykbroker, WITH: WithHttp}).items():
            aim = "; wanted: below 0.35 s" if name == WITH else ""
            print(f"{took:9.2f} s   start {name} ({used:.2f} s of processor time{aim})", flush=True)
        plain, other = Pykbroker(folder / "a"), WithHttp(folder / "b")
        sides = {
            name: Side(each, running.enter_context(_served(each, given.partitions)))
            for name, each in ((WITHOUT, plain), (WITH, other))
        }
        watcher = running.enter_context(Watcher(other.http, TOPIC))
        for number in range(-1, given.rounds):  # the first one warms up: modules are imported
            for manner in _from([UNWATCHED, WATCHED], number):
                with watcher.watching() if manner == WATCHED else nullcontext():
                    _period(_from(list(sides.values()), number), manner, given.produces, counts=number >= 0)
        for manner in (UNWATCHED, WATCHED):
            _say(manner, sides)
        _say_machine(sides[WITHOUT])
        _say_use(sides, given.produces)
    return 0


def _period(sides: list[Side], manner: str, produces: int, *, counts: bool) -> None:
    frame = _frame()
    produce(sides, frame, _LEAD)
    before = [side.used_s() for side in sides]
    produce(sides, frame, produces)
    if counts:
        for side, used_s in zip(sides, before, strict=True):
            side.periods[manner].add(side.found, side.used_s() - used_s)


@contextmanager
def _served(broker: Pykbroker, partitions: int) -> Iterator[Connection]:
    broker.start()
    try:
        client = Connection(broker.bootstrap)
        _create(client, partitions)
        yield client
    finally:
        broker.stop()


def _create(client: Connection, partitions: int) -> None:
    topics = [CreatableTopic(TOPIC, 1, 1), CreatableTopic("others", max(partitions - 1, 1), 1)]
    answer = client.ask(CreateTopicsRequest(topics, 60_000), 7)
    assert not any(each.error_code for each in answer.topics), answer  # type: ignore[attr-defined]


def _frame() -> bytes:
    """Return a Produce request of one record."""
    records = bytes(encode_batch([Record(timestamp=0, value=b"x" * 100)], base_offset=0))
    partition = PartitionProduceData(0, records)
    request = ProduceRequest(
        acks=1, timeout_ms=60_000, topic_data=[TopicProduceData(TOPIC, partition_data=[partition])]
    )
    frame = bytearray()
    encode_request_header(frame, RequestHeader(ProduceRequest.API_KEY, _PRODUCE_VERSION, 1, "bench"))
    request.encode(frame, _PRODUCE_VERSION)
    return bytes(frame)


def _from(names: list[T], number: int) -> list[T]:
    """Return these in another order each round, since the order makes a difference."""
    begin = number % len(names)
    return names[begin:] + names[:begin]


def _part(numbers: list[float]) -> Part:
    ordered = sorted(numbers)
    return Part(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100])


class Ratio(NamedTuple):
    """The quartiles of ratios."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(mine: Sequence[float], its: Sequence[float]) -> Ratio:
    """Return the quartiles of the ratios of neighbouring periods."""
    found = [one / other if other else 1.0 for one, other in zip(mine, its, strict=True)]
    return Ratio(*statistics.quantiles(found, n=4, method="inclusive")) if len(found) > 1 else Ratio(*found * 3)


def _times(mine: Periods, its: Periods, what: int) -> str:
    """Return the ratios of percentiles to those of the same periods of another broker, or of the neighbouring ones."""
    parts = mine.parts(what), its.parts(what)
    p50, p99 = (ratio(*([each[part] for each in one] for one in parts)) for part in (0, 1))
    both = mine.whole(what), its.whole(what)
    return f"{p50} and {p99} times; of all periods together {both[0].p50 / both[1].p50:.2f} and {both[0].p99 / both[1].p99:.2f} times"


def _say(manner: str, sides: dict[str, Side]) -> None:
    """Print the broker with the HTTP side beside the one without, in the same milliseconds."""
    mine, its = sides[WITH].periods[manner], sides[WITHOUT].periods[manner]
    wanted = "; wanted: p99 below 1.10 times" if manner == WATCHED else ""
    for what, of in enumerate(("of a produce", "of processor time used during a produce")):
        here, there = mine.whole(what), its.whole(what)
        print(f"{there.p50:9.3f} ms  p50, {there.p99:.3f} ms p99 {of} {WITHOUT}, {manner}")
        print(
            f"{here.p50:9.3f} ms  p50, {here.p99:.3f} ms p99 {of} {WITH}, {manner}: {_times(mine, its, what)}{wanted}"
        )


def _say_machine(plain: Side) -> None:
    """Print what the processes of the watchers cost the broker that they do not watch."""
    watched, unwatched = plain.periods[WATCHED], plain.periods[UNWATCHED]
    print(f"{'':9}     {WITHOUT}, while the other broker is watched: {_times(watched, unwatched, 0)} {UNWATCHED}")


def _say_use(sides: dict[str, Side], produces: int) -> None:
    for manner in (UNWATCHED, WATCHED):
        base = sides[WITHOUT].periods[manner].used_s
        for name, side in sides.items():
            used = side.periods[manner].used_s
            used_us = statistics.median(used) / produces * 1e6
            print(
                f"{used_us:9.1f} µs  processor time of the broker per produce {name}, {manner}; {ratio(used, base)} times"
            )
    base_mb = sides[WITHOUT].broker.memory_mb()
    for name, side in sides.items():
        mb = side.broker.memory_mb()
        print(f"{mb:9.1f} MB  memory {name} ({mb - base_mb:+.1f}; wanted: below 30 more)")
