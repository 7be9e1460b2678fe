"""What others take to the first record, started from outside: Apache Kafka from its jars, and kfake, franz-go's fake in Go."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

_GO = shutil.which("go")
_KFAKE = Path(__file__).parent / "kfake"


def measured(folder: Path) -> dict[str, Callable[[], float]]:
    """By name, what starts one over an empty folder and returns the seconds to the first record. kfake where Go is."""
    found = {"Apache Kafka 4.3.1 (formatted and started, flags for a quick start)": lambda: _first(_apache(folder))}
    if _GO is not None:
        program = folder / "kfake"
        subprocess.run([_GO, "build", "-o", str(program), "."], cwd=_KFAKE, check=True)
        found["kfake (a program of Go, built before)"] = lambda: _first(_kfake(program))
    return found


def _first(broker: Callable[[], Iterator[str]]) -> float:
    began = time.monotonic()
    with contextmanager(broker)() as address:
        producer = Producer({"bootstrap.servers": address})
        producer.produce("t", b"v")
        assert producer.flush(60) == 0
        return time.monotonic() - began


def _apache(folder: Path) -> Callable[[], Iterator[str]]:
    from compat_tests.harness.apache import ApacheKafka

    def started() -> Iterator[str]:
        shutil.rmtree(folder / "kafka", ignore_errors=True)
        kafka = ApacheKafka(folder / "kafka")
        kafka.start()
        yield kafka.bootstrap
        kafka.stop()

    return started


def _kfake(program: Path) -> Callable[[], Iterator[str]]:
    def started() -> Iterator[str]:
        with subprocess.Popen([str(program)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
            process.terminate()

    return started
