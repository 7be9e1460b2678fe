"""Which loads are run, and how large."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.crowding import SmallAmongLarge
from scripts.bench_job.java_tools import JavaTools
from scripts.bench_job.librdkafka import Batches, Latency, OneRecordRequests
from scripts.bench_job.over_tls import OverTls
from scripts.bench_job.readings import Reading
from scripts.bench_job.starting import MemoryAfterLoad, Starts
from scripts.bench_job.storm import HandshakeStorm


class Load(Protocol):
    """Something to do to a broker, with a topic of its own, and what was measured."""

    @property
    def name(self) -> str: ...

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]: ...


def full(folder: Path) -> dict[str, Load]:
    """The loads of the table in docs/performance.md, by the names that ``--only`` takes."""
    return {
        "start": Starts(folder / "start", idle_s=3),
        "perf-100-1": JavaTools(100, 1, 2_000_000),
        "perf-100-6": JavaTools(100, 6, 2_000_000),
        "perf-1k-1": JavaTools(1024, 1, 400_000),
        "perf-1k-6": JavaTools(1024, 6, 400_000),
        "batches": Batches("librdkafka, large batches", 1, 1_000_000),
        "partitions": Batches("librdkafka, 300 partitions", 300, 1_000_000),
        "requests": OneRecordRequests(50_000),
        "latency": Latency(3_000),
        "crowding": SmallAmongLarge(2_000),
        "tls": OverTls(folder / "tls", 1_000_000),
        "storm": HandshakeStorm(folder / "storm", 3_000),
        "memory": MemoryAfterLoad(),
    }


def left_out_before(checkout: Path) -> list[str]:
    """Those that a checkout cannot carry."""
    return [] if (checkout / "pykbroker" / "network" / "tls.py").exists() else ["tls", "storm"]


def warm_up(*, python: bool) -> dict[str, Load]:
    """The same loads, smaller: modules are imported and hot paths compiled after them. ``python``: both are pykbroker, which
    needs little of it.
    """
    if python:
        return {
            "batches": Batches("librdkafka, large batches", 1, 100_000),
            "partitions": Batches("librdkafka, 300 partitions", 300, 100_000),
            "requests": OneRecordRequests(10_000),
            "latency": Latency(500),
        }
    return {
        "perf-100-1": JavaTools(100, 1, 500_000),
        "perf-100-6": JavaTools(100, 6, 500_000),
        "perf-1k-1": JavaTools(1024, 1, 100_000),
        "perf-1k-6": JavaTools(1024, 6, 100_000),
        "batches": Batches("librdkafka, large batches", 1, 300_000),
        "partitions": Batches("librdkafka, 300 partitions", 300, 300_000),
        "requests": OneRecordRequests(20_000),
        "latency": Latency(1_000),
    }


def quick(folder: Path) -> dict[str, Load]:
    """Every kind of load once and small, to see that the bench works; its numbers mean nothing. Those that start brokers of
    their own are left out.
    """
    return {
        "start": Starts(folder / "start", idle_s=0),
        "perf-100-1": JavaTools(100, 1, 20_000, hasty=True),
        "batches": Batches("librdkafka, large batches", 1, 20_000),
        "partitions": Batches("librdkafka, 300 partitions", 300, 20_000),
        "requests": OneRecordRequests(1_000),
        "latency": Latency(100),
        "crowding": SmallAmongLarge(10),
        "memory": MemoryAfterLoad(),
    }
