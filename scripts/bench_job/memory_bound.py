"""Crowds within 128 MB of memory: pykbroker in a cgroup of that size, beside itself with the budget that it has there, without a bound, and
Apache Kafka. A cgroup counts the pages of the files that are written, too: what is slower there than with the budget alone waits for these.

In a table of its own, since it compares four brokers: a hundred consumers from the beginning, and fifty producers of batches of 1 MB.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.memory_crowd import (
    BATCH,
    BATCHES,
    CONSUMERS,
    EACH,
    PARTITIONS,
    PRODUCERS,
    Crowd,
    SmallBroker,
    cgroup,
    consumers,
    create,
    fill,
    peak,
    producers,
)
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.brokers import KAFKA_FLAGS

KAFKA, FREE = "Apache Kafka, heap of 1 GB", "pykbroker without a bound"
BUDGET, BOUND = "pykbroker with the budget of 128 MB", "pykbroker in 128 MB"
_SIDES: Final = (KAFKA, FREE, BUDGET, BOUND)
_FREE: Final = {"pykbroker.memory.bytes": str(1 << 40)}
#: Load to what happens before, the crowd, and the bytes of records that it moves.
_LOADS: Final[dict[str, tuple[Callable[[BrokerProcess, str], None], Callable[[BrokerProcess, str], Crowd], int]]] = {
    f"{CONSUMERS} consumers from the beginning": (fill, consumers, CONSUMERS * BATCHES * PARTITIONS * len(BATCH)),
    f"{PRODUCERS} producers of 1 MB batches": (create, producers, PRODUCERS * EACH * len(BATCH)),
}


@dataclass(frozen=True)
class Served:
    """What a crowd had of a broker: seconds, CPU seconds, the peak in bytes, and the ``fewest`` of the crowd."""

    seconds: float
    cpu_s: float
    peak: int
    fewest: int


Taken = dict[tuple[str, str], list[Served]]


def measure(rounds: int, folder: Path | None = None) -> Taken:
    """All crowds at all brokers, each a fresh process, in turn."""
    taken: Taken = {}
    for number in range(rounds):
        for load in _LOADS:
            for name in _SIDES if number % 2 == 0 else reversed(_SIDES):
                with tempfile.TemporaryDirectory(prefix="pykbroker-bench-", dir=folder) as data:
                    taken.setdefault((load, name), []).append(_served(load, name, Path(data)))
    return taken


def _served(load: str, name: str, folder: Path) -> Served:
    prepare, crowd, _ = _LOADS[load]
    with _running(name, folder) as broker:
        prepare(broker, "t")
        before, began = broker.cpu_seconds(), time.perf_counter()
        clients = crowd(broker, "t")
        clients.run()
        seconds = time.perf_counter() - began
        assert clients.fewest is not None
        return Served(seconds, broker.cpu_seconds() - before, peak(broker), clients.fewest)


@contextmanager
def _running(name: str, folder: Path) -> Iterator[BrokerProcess]:
    with cgroup() as group:
        broker: BrokerProcess
        if name == KAFKA:
            broker = ApacheKafka(folder, flags=KAFKA_FLAGS)
        elif name == FREE:
            broker = Pykbroker(folder, _FREE)
        else:
            broker = SmallBroker(folder, None if name == BUDGET else group)
        broker.start()
        try:
            yield broker
        finally:
            broker.stop()


def markdown(taken: Taken) -> str:
    """The table of medians, and the ratios of rates."""
    lines = [
        "| | MB/s | CPU s | peak memory | fewest answers of one when another had all |",
        "|---|---:|---:|---:|---:|",
    ]
    for (load, name), all_served in taken.items():
        rate = statistics.median(_LOADS[load][2] / 1e6 / each.seconds for each in all_served)
        cpu = statistics.median(each.cpu_s for each in all_served)
        most = max(each.peak for each in all_served)
        fewest = min(each.fewest for each in all_served)
        lines.append(f"| {load}: {name} | {rate:,.0f} | {cpu:.2f} | {most / 1e6:,.0f} MB | {fewest} |")
    lines.append("")
    lines += [_ratio(load, name, taken) for load in _LOADS for name in (BUDGET, BOUND)]
    return "\n".join(lines)


def _ratio(load: str, name: str, taken: Taken) -> str:
    pairs = list(zip(taken[load, FREE], taken[load, name], strict=True))
    rates = [free.seconds / bound.seconds for free, bound in pairs]
    cpu = [bound.cpu_s / free.cpu_s for free, bound in pairs]
    return (
        f"{load}: {name} {statistics.median(rates):.2f} ({min(rates):.2f} to {max(rates):.2f}) of the rate without a bound, "
        f"and {statistics.median(cpu):.2f} of the CPU time."
    )
