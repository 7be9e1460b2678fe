"""Metrics of the process: memory, CPU time, and delays of the event loop."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pykbroker import __version__
from pykbroker.http.metrics.metric import Metric, counter, gauge, summary
from pykbroker.runtime.clock import thread_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric as ClientMetric
    from prometheus_client.registry import Collector

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.lag import LoopLag
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.runtime.clock import Clock

BUILD_INFO = gauge(
    "pykbroker_build_info", "1, with the version of pykbroker.", "version", moves="Another version was started."
)
LAG = summary(
    "pykbroker_loop_lag_seconds",
    "How late a timer of the event loop fires, measured ten times a second: a request may wait as long.",
    moves="0.99 above 0.1: too much work for one core, or a machine that gives the process less of it.",
)
LONGEST_LAG = gauge(
    "pykbroker_loop_lag_longest_seconds",
    "The longest of the last one to two minutes.",
    moves="Above 1: clients see time-outs. What the log tells at that time, and the disk, are where to look.",
)
LOOP_SECONDS = counter(
    "pykbroker_loop_cpu_seconds_total",
    "CPU seconds of the event loop's thread: its rate is the part of a core in use.",
    moves="A rate near 1: the broker has no more to give. Batch more (linger.ms), compress less, divide the load.",
)
HANDLERS_IDLE = gauge(
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "The part of the time, 0 to 1, that the event loop was idle since the last scrape.",
    moves="Below 0.3: as pykbroker_loop_cpu_seconds_total.",
)
NETWORK_IDLE = gauge(
    "kafka_network_socketserver_networkprocessoravgidle_percent",
    "The same: one loop does both.",
    moves="As requesthandleravgidle.",
)
SLICES = gauge(
    "pykbroker_sliced_work",
    "Long work in slices: groups being loaded, offsets that expire, markers of a transaction.",
    moves="More than a few for minutes: see pykbroker_loop_cpu_seconds_total.",
)

#: The shortest interval for the idle ratio, however often it is scraped.
_WINDOW_S = 1.0
#: Open descriptors that are listed on the loop, in some tens of microseconds. A thread takes longer, and a request that
#: arrives meanwhile waits for the interpreter's lock.
_COUNTED_HERE: Final = 128
_DESCRIPTORS: Final = Path("/proc/self/fd")


class OwnProcessCollector:
    """Must be created and used on the loop's own thread."""

    def __init__(self, lag: LoopLag, clock: Clock) -> None:
        self._lag = lag
        self._clock = clock
        self._idle = 1.0
        self._looked = (clock.monotonic(), thread_seconds())

    @cached_property
    def _collectors(self) -> list[Collector]:
        """Return prometheus_client's own collectors, created for the first page."""
        from prometheus_client import (
            CollectorRegistry,
            GCCollector,
            PlatformCollector,
            ProcessCollector,
        )

        registry = CollectorRegistry()
        return [collector(registry=registry) for collector in (ProcessCollector, PlatformCollector, GCCollector)]

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        page.add(BUILD_INFO, 1, __version__)
        now = self._clock.monotonic()
        page.add_times(LAG, (self._lag.times,), now, 1)
        yield None
        page.add(LONGEST_LAG, self._lag.times.longest(now))
        page.add(LOOP_SECONDS, thread_seconds())
        idle = self._idle_part(now)
        page.add(HANDLERS_IDLE, idle)
        page.add(NETWORK_IDLE, idle)
        page.add(SLICES, len(cluster.runtime.slices))
        yield None
        if 0 < _open_descriptors() <= _COUNTED_HERE:
            for collector in self._collectors:
                yield from _add(page, collector.collect())
        else:
            told = cluster.runtime.offload_read(_collected, self._collectors)
            yield told
            yield from _add(page, told.value)

    def _idle_part(self, now: float) -> float:
        before, used_before = self._looked
        if now - before >= _WINDOW_S:
            used = thread_seconds()
            self._idle = max(0.0, 1 - (used - used_before) / (now - before))
            self._looked = (now, used)
        return round(self._idle, 4)


def _open_descriptors() -> int:
    """Return how many descriptors are open; 0 if unknown: before Linux 6.2, and elsewhere."""
    try:
        return _DESCRIPTORS.stat().st_size
    except OSError:
        return 0


def _collected(collectors: Iterable[Collector]) -> list[ClientMetric]:
    """For a thread: each open descriptor is listed in order to count them."""
    return [family for collector in collectors for family in collector.collect()]


def _add(page: Page, families: Iterable[ClientMetric]) -> Steps:
    """Add metrics of prometheus_client's own."""
    for family in families:
        name = family.name + ("_total" if family.type == "counter" else "")
        metric = Metric(name, family.type, family.documentation)
        lines = page.lines(metric)
        for sample in family.samples:
            inner = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
            lines.append(f"{sample.name[len(name) :]}{{{inner}}} {sample.value}" if inner else f" {sample.value}")
        yield None
