"""Measures start, first record and memory of pykbroker and others, started as processes and used by one client."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.apache import ApacheKafka
from pykbroker.testing import Kafka
from scripts.bench_testing_job import kfake
from scripts.bench_testing_job.client import first_record, memory

#: Run in a process of its own, whose memory nothing else has changed.
_GROWTH = """
from confluent_kafka import Producer
from scripts.bench_testing_job.client import first_record, memory
import os

Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
before = memory(os.getpid())
from pykbroker.testing import Kafka

with Kafka() as kafka:
    first_record(kafka.bootstrap_servers)
    print(memory(os.getpid()) - before)
"""


class Broker(NamedTuple):
    """A broker that accepts clients: its address, and its process unless it is this one."""

    address: str
    pid: int | None


class Took(NamedTuple):
    """Seconds from the start until clients are accepted, and until the first record is acknowledged; bytes of memory."""

    ready: float
    first: float
    memory: int


Start = Callable[[], AbstractContextManager[Broker]]


def compare(folder: Path, rounds: int) -> Iterator[tuple[str, Took | str]]:
    """Return the medians of each broker, or why it was not measured. They are started in turn, round by round."""
    starts, missing = _starts(folder)
    for start in starts.values():
        _took(start)  # warm-up: files are in the page cache
    taken = [{name: _took(start) for name, start in starts.items()} for _ in range(rounds)]
    for name in starts:
        yield name, Took(*(statistics.median(column) for column in zip(*(each[name] for each in taken), strict=True)))
    yield from missing.items()


def _starts(folder: Path) -> tuple[dict[str, Start], dict[str, str]]:
    starts: dict[str, Start] = {
        "pykbroker in this process": partial(_ours, process=False),
        "pykbroker as a process": partial(_ours, process=True),
    }
    missing = {}
    name = "kfake, in Go, records in memory, built before"
    try:
        starts[name] = partial(_kfake, kfake.build(folder / "kfake"))
    except kfake.GoMissing as error:
        missing[name] = str(error)
    starts["Apache Kafka 4.4.0, formatted and started, flags for a quick start"] = partial(_apache, folder / "apache")
    return starts, missing


def _took(start: Start) -> Took:
    began = time.monotonic()
    with start() as broker:
        ready = time.monotonic() - began
        first_record(broker.address)
        first = time.monotonic() - began
        return Took(ready, first, _growth() if broker.pid is None else memory(broker.pid))


def _growth() -> int:
    """Return the memory growth of a process that has the client: pykbroker's modules, the broker, the first record."""
    done = subprocess.run([sys.executable, "-c", _GROWTH], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


@contextmanager
def _ours(*, process: bool) -> Iterator[Broker]:
    with Kafka(process=process) as kafka:
        yield Broker(kafka.bootstrap_servers, kafka.pid if process else None)


@contextmanager
def _kfake(program: Path) -> Iterator[Broker]:
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield Broker(running.stdout.readline().strip(), running.pid)
        running.stdin.close()


@contextmanager
def _apache(folder: Path) -> Iterator[Broker]:
    kafka = ApacheKafka(folder / str(time.monotonic_ns()))
    kafka.start()
    assert kafka.process is not None
    try:
        yield Broker(kafka.bootstrap, kafka.process.pid)
    finally:
        kafka.stop()
