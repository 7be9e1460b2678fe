"""Measures a broker without the HTTP side and one with it, alone and watched, in periods that take turns.

Each period begins with a lead that is not counted: pages open and read what came before, caches are filled. Ratios are of
neighbouring periods, so that what the machine does for minutes concerns both; of all ratios the median counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from scripts.bench_http_job.watcher import Watcher
from scripts.bench_job.brokers import timed_start

WITHOUT, WITH, WATCHED = "without", "with it", "watched"
TOPIC = "bench"
_PRODUCE_VERSION = 9
_EVERY_S = 0.001
#: Produces before each period: a second.
_LEAD = 1000
#: Type bits of a process's CPU clock, as clock_getcpuclockid(3) makes its id.
_SCHEDULED = 2


class WithHttp(Pykbroker):
    """``pykbroker serve --http``."""

    def command(self) -> list[str]:
        return [*super().command(), "--http", "0"]

    @property
    def http(self) -> str:
        """Return the address in the line that says that the broker is ready."""
        ready = self.log_file.read_text().rpartition("; HTTP at ")[2]
        return ready.split()[0]


class Sent(NamedTuple):
    """A produce: milliseconds until its response, and milliseconds of processor time that the broker used meanwhile."""

    took: float
    used: float


class Part(NamedTuple):
    """Percentiles of one of these."""

    p50: float
    p99: float


@dataclass
class Side:
    """One broker under measurement, with its client, its watcher, and one list of produces per period."""

    broker: Pykbroker
    client: Connection
    watching: Callable[[], AbstractContextManager[None]] = nullcontext
    periods: list[list[Sent]] = field(default_factory=list)
    #: Processor time of the broker in each period, in seconds.
    used_s: list[float] = field(default_factory=list)

    def period(self, produces: int) -> None:
        with self.watching():
            clock = _processor_clock(self.broker.pid)
            _produce(self.client, _LEAD, clock)
            before = time.clock_gettime(clock)
            self.periods.append(_produce(self.client, produces, clock))
            self.used_s.append(time.clock_gettime(clock) - before)

    def parts(self, what: int) -> list[Part]:
        """Return percentiles by period, of the times (0) or of the processor time (1)."""
        return [_part([sent[what] for sent in period]) for period in self.periods]

    def whole(self, what: int) -> Part:
        """Return percentiles of all periods together."""
        return _part([sent[what] for period in self.periods for sent in period])


def main(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-http-") as made, ExitStack() as running:
        folder = Path(made)
        _starts(folder, given.starts)
        plain, other = Pykbroker(folder / "a"), WithHttp(folder / "b")
        clients = [running.enter_context(_served(each, given.partitions)) for each in (plain, other)]
        watcher = running.enter_context(Watcher(other.http, TOPIC))
        sides = {
            WITHOUT: Side(plain, clients[0]),
            WITH: Side(other, clients[1]),
            WATCHED: Side(other, clients[1], watcher.watching),
        }
        for each in sides.values():  # warm-up: modules are imported
            each.period(given.produces)
            each.periods.clear()
            each.used_s.clear()
        for number in range(given.rounds):
            for name in _from(list(sides), number):
                sides[name].period(given.produces)
        for name, side in sides.items():
            _say(name, side, sides)
        _say_use(sides, given.produces)
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
    """Measure starts up to the first response, the two brokers in turn."""
    found: dict[str, list[tuple[float, float]]] = {WITHOUT: [], WITH: []}
    for number in range(rounds + 1):
        for name, kind in ((WITHOUT, Pykbroker), (WITH, WithHttp)):
            broker = kind(folder / f"{name}-{number}")
            took = timed_start(broker)
            if number:  # the first start fills the page cache
                found[name].append((took, broker.cpu_seconds()))
            broker.stop()
    for name, times in found.items():
        took, used = (statistics.median(each[part] for each in times) for part in (0, 1))
        aim = "; wanted: below 0.35 s" if name == WITH else ""
        print(f"{took:9.2f} s   start {name} ({used:.2f} s of processor time{aim})", flush=True)


def _create(client: Connection, partitions: int) -> None:
    topics = [CreatableTopic(TOPIC, 1, 1), CreatableTopic("others", max(partitions - 1, 1), 1)]
    answer = client.ask(CreateTopicsRequest(topics, 60_000), 7)
    assert not any(each.error_code for each in answer.topics), answer  # type: ignore[attr-defined]


def _produce(client: Connection, count: int, clock: int) -> list[Sent]:
    """Produce one record every millisecond.

    Times are from the moment at which a produce was due to its response, so that waiting for the one before is
    included.
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
    found: list[Sent] = []
    now, used = time.perf_counter, time.clock_gettime
    due = now()
    for _ in range(count):
        due += _EVERY_S
        begun = due
        early = due - now()
        if early > 0:
            time.sleep(early)
            begun = now()  # a late wake-up of this process is not the broker's
        before = used(clock)
        client.send_raw(sent)
        client.receive_raw()
        took = now() - begun
        found.append(Sent(took * 1e3, (used(clock) - before) * 1e3))
    return found


def _processor_clock(pid: int) -> int:
    """Return the CPU clock of another process: as fine as the wall clock, and unaffected by other load on the machine."""
    return (~pid << 3) | _SCHEDULED


def _from(names: list[str], number: int) -> list[str]:
    """Return the names in another order each round, since the order makes a difference."""
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


def _times(side: Side, other: Side, what: int) -> str:
    """Return the ratios of a percentile to that of another side."""
    mine, its = side.parts(what), other.parts(what)
    p50, p99 = (ratio([each[part] for each in mine], [each[part] for each in its]) for part in (0, 1))
    return f"{p50} and {p99} times"


def _say(name: str, side: Side, sides: dict[str, Side]) -> None:
    """Print a side beside the broker without the HTTP side or, if watched, beside the same broker unwatched."""
    others = {WITHOUT: (), WITH: (WITHOUT,), WATCHED: (WITHOUT, WITH)}[name]
    wanted = "; wanted: p99 below 1.10 times" if name == WATCHED else ""
    for what, of in enumerate(("of a produce", "of processor time used during a produce")):
        whole = side.whole(what)
        beside = "".join(f"; {_times(side, sides[other], what)} {other}" for other in others)
        print(f"{whole.p50:9.3f} ms  p50, {whole.p99:.3f} ms p99 {of} {name}{beside}{wanted}")


def _say_use(sides: dict[str, Side], produces: int) -> None:
    base = sides[WITHOUT]
    for name, side in sides.items():
        used_us = statistics.median(side.used_s) / produces * 1e6
        times = ratio(side.used_s, base.used_s)
        print(f"{used_us:9.1f} µs  processor time of the broker per produce {name}; {times} times {WITHOUT}")
    for name in (WITHOUT, WATCHED):
        memory = sides[name].broker.memory_mb()
        print(f"{memory:9.1f} MB  memory {name} ({memory - base.broker.memory_mb():+.1f}; wanted: below 30 more)")
