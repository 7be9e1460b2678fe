"""Which loads are run, and their sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.cold_reads import ColdReads
from scripts.bench_job.crowding import SmallAmongLarge
from scripts.bench_job.housekeeping import AtWork
from scripts.bench_job.java_tools import JavaTools
from scripts.bench_job.librdkafka import Batches, Latency, OneRecordRequests
from scripts.bench_job.many import Many
from scripts.bench_job.over_tls import OverTls
from scripts.bench_job.raw_requests import Crowds, OneAfterAnother
from scripts.bench_job.readings import Reading
from scripts.bench_job.replicas import Replicated
from scripts.bench_job.share_groups import ShareGroup
from scripts.bench_job.starting import MemoryAfterLoad, Starts
from scripts.bench_job.storm import HandshakeStorm


class Load(Protocol):
    """A load for a broker, with a topic of its own, and what it measured."""

    @property
    def name(self) -> str: ...

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]: ...


def full(folder: Path) -> dict[str, Load]:
    """Return the loads of the table in docs/performance.md, by the names that ``--only`` takes."""
    return {
        "start": Starts(folder / "start", idle_s=3),
        "perf-100-1": JavaTools(100, 1, 2_000_000),
        "perf-100-6": JavaTools(100, 6, 2_000_000),
        "perf-1k-1": JavaTools(1024, 1, 400_000),
        "perf-1k-6": JavaTools(1024, 6, 400_000),
        "share-1": ShareGroup(1, 500_000),
        "share-4": ShareGroup(4, 500_000),
        "share-16": ShareGroup(16, 500_000),
        "batches": Batches("librdkafka, large batches", 1, 1_000_000),
        "partitions": Batches("librdkafka, 300 partitions", 300, 1_000_000),
        "requests": OneRecordRequests(50_000),
        "latency": Latency(3_000),
        "crowding": SmallAmongLarge(2_000),
        "tls": OverTls(folder / "tls", 1_000_000),
        "storm": HandshakeStorm(folder / "storm", 3_000),
        "replicas": Replicated(folder / "replicas", 400_000, 6),
        "coordinator": OneAfterAnother(2_000),
        "crowds": Crowds(100_000),
        "housekeeping": AtWork(folder / "housekeeping", 20_000),
        "cold": ColdReads(400),
        "many": Many(folder / "many", 10_000, 1_000, 2_000),
        "memory": MemoryAfterLoad(),
    }


#: Loads with brokers of their own, or that need a broker's files: a broker that runs already has none of them.
OF_OUR_OWN = frozenset({"start", "tls", "storm", "replicas", "housekeeping", "cold", "many"})
#: Where a checkout of pykbroker has what loads need that the first ones had not.
_SINCE = {
    "network/tls.py": ("tls", "storm"),
    "share_partitions": ("share-1", "share-4", "share-16"),
    "replication": ("replicas",),
}


def left_out_before(checkout: Path) -> list[str]:
    """Return the loads that a checkout is too old for."""
    return [name for room, names in _SINCE.items() if not (checkout / "pykbroker" / room).exists() for name in names]


def warm_up(*, python: bool) -> dict[str, Load]:
    """Return the same loads, smaller: they import modules and compile hot paths.

    ``python``: both brokers are pykbroker, which needs little warm-up.
    """
    if python:
        return {
            "batches": Batches("librdkafka, large batches", 1, 100_000),
            "partitions": Batches("librdkafka, 300 partitions", 300, 100_000),
            "requests": OneRecordRequests(10_000),
            "latency": Latency(500),
            "coordinator": OneAfterAnother(200),
            "crowds": Crowds(10_000),
        }
    return {
        "perf-100-1": JavaTools(100, 1, 500_000),
        "perf-100-6": JavaTools(100, 6, 500_000),
        "perf-1k-1": JavaTools(1024, 1, 100_000),
        "perf-1k-6": JavaTools(1024, 6, 100_000),
        "share-4": ShareGroup(4, 100_000, 500),
        "batches": Batches("librdkafka, large batches", 1, 300_000),
        "partitions": Batches("librdkafka, 300 partitions", 300, 300_000),
        "requests": OneRecordRequests(20_000),
        "latency": Latency(1_000),
        "coordinator": OneAfterAnother(1_000),
        "crowds": Crowds(50_000),
        "cold": ColdReads(40),
    }


def quick(folder: Path) -> dict[str, Load]:
    """Return every kind of load once and small, as a test of the bench; its numbers mean nothing.

    Loads with brokers of their own are left out.
    """
    return {
        "start": Starts(folder / "start", idle_s=0),
        "perf-100-1": JavaTools(100, 1, 20_000, hasty=True),
        "share-4": ShareGroup(4, 20_000, 50, hasty=True),
        "batches": Batches("librdkafka, large batches", 1, 20_000),
        "partitions": Batches("librdkafka, 300 partitions", 300, 20_000),
        "requests": OneRecordRequests(1_000),
        "latency": Latency(100),
        "crowding": SmallAmongLarge(10),
        "coordinator": OneAfterAnother(20),
        "crowds": Crowds(1_000),
        "cold": ColdReads(3),
        "memory": MemoryAfterLoad(),
    }
