"""Times runs of pytest over generated test files, and starts of brokers in this process."""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_TESTS = 200
_WORKERS = 8
_CLIENT = "import time\nfrom confluent_kafka import Producer\n"
_EMPTY = f"{_CLIENT}\ndef test_it():\n    open('at', 'w').write(repr(time.monotonic()))\n"
_FIRST = f"""{_CLIENT}
def test_it(kafka):
    producer = Producer({{"bootstrap.servers": kafka.bootstrap_servers}})
    producer.produce("t", b"v")
    assert producer.flush(20) == 0
    open('at', 'w').write(repr(time.monotonic()))
"""
_NOTHING = f"import pytest\n\n@pytest.mark.parametrize('n', range({_TESTS}))\ndef test_it(n): ...\n"
_USING = f"import pytest\n\n@pytest.mark.parametrize('n', range({_TESTS}))\ndef test_it(n, kafka): ...\n"
_HUNDRED = """
import pytest
from confluent_kafka import Producer

@pytest.mark.parametrize("n", range(100))
def test_it(n, kafka):
    assert kafka.topics() == {}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("t", b"%d" % n)
    assert producer.flush(20) == 0
    assert [each.value for each in kafka.records("t")] == [b"%d" % n]
"""


def main(given: argparse.Namespace) -> int:
    if given.projects:
        from scripts.bench_testing_job import projects

        projects.compare()
        return 0
    with tempfile.TemporaryDirectory(prefix="bench-testing-") as made:
        folder = Path(made)
        files = {
            name: _file(folder / name, text)
            for name, text in (
                ("empty", _EMPTY),
                ("first", _FIRST),
                ("nothing", _NOTHING),
                ("using", _USING),
                ("hundred", _HUNDRED),
            )
        }
        _pytest(files["first"])  # warm-up: bytecode is cached, files are in the page cache
        print(f"{'clock':>9}    {'processor':>9}")
        rounds = [
            {
                "empty": _until_mark(files["empty"]),
                "first": _until_mark(files["first"]),
                "nothing": _pytest(files["nothing"]),
                "using": _pytest(files["using"]),
            }
            for _ in range(given.rounds)
        ]
        _say(
            "pytest's start to its first test, client imported, no broker", *_medians(each["empty"] for each in rounds)
        )
        first = _medians(_more(each["first"], each["empty"]) for each in rounds)
        _say("the same to the first record through the fixture kafka: more by", *first, wanted=0.3)
        single = _medians(_more(each["using"], each["nothing"], *first) for each in rounds)
        _say(f"one of {_TESTS} tests that use kafka: more by", *(each / _TESTS for each in single), wanted=0.005)
        _say("start in process, once imported", *_starts(given.rounds), wanted=0.02)
        took = _pytest(files["hundred"], "-p", "xdist", "-n", str(_WORKERS))
        _say(f"a hundred tests in {_WORKERS} workers, each with a producer of its own: all passed in", *took)
        if given.others:
            _say_others(folder, given.rounds)
    return 0


def _say_others(folder: Path, rounds: int) -> None:
    from scripts.bench_testing_job.others import compare

    print("A broker from its start, client imported, until")
    print(f"{'it is ready':>12} {'first record':>12}    {'memory':>9}")
    for broker, took in compare(folder, rounds):
        if isinstance(took, str):
            print(f"not measured: {broker}: {took}")
        else:
            print(
                f"{took.ready * 1000:9.1f} ms {took.first * 1000:9.1f} ms {took.memory / 1e6:9.1f} MB  {broker}",
                flush=True,
            )


def _file(folder: Path, text: str) -> Path:
    folder.mkdir()
    made = folder / "test_it.py"
    made.write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return made


class Took(NamedTuple):
    """Seconds of wall time, and of processor time, which a busy machine changes less."""

    clock: float
    processor: float


def _pytest(file: Path, *options: str) -> Took:
    """Time a run. Raises CalledProcessError if a test fails."""
    began, before = time.monotonic(), _processor()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, file.name]
    subprocess.run(command, cwd=file.parent, check=True, capture_output=True, env={**os.environ, "PYTEST_ADDOPTS": ""})
    return Took(time.monotonic() - began, _processor() - before)


def _processor() -> float:
    """Return the processor time in seconds of children that have exited."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _until_mark(file: Path) -> Took:
    """Time from the start of a run to the moment that its test noted; the processor time is that of the whole run."""
    began = time.monotonic()
    took = _pytest(file)
    return Took(float((file.parent / "at").read_text()) - began, took.processor)


def _more(one: Took, other: Took, *and_also: float) -> Took:
    clock, processor = and_also or (0.0, 0.0)
    return Took(one.clock - other.clock - clock, one.processor - other.processor - processor)


def _medians(rounds: Iterable[Took]) -> Took:
    every = list(rounds)
    return Took(statistics.median(each.clock for each in every), statistics.median(each.processor for each in every))


def _starts(rounds: int) -> Took:
    from pykbroker.testing import Kafka

    def start() -> Took:
        kafka = Kafka()
        began, before = time.monotonic(), time.process_time()
        kafka.start()
        took = Took(time.monotonic() - began, time.process_time() - before)
        kafka.stop()
        return took

    start()
    return _medians(start() for _ in range(rounds))


def _say(what: str, clock: float, processor: float, *, wanted: float | None = None) -> None:
    aim = "" if wanted is None else f" (wanted: below {wanted * 1000:g} ms)"
    print(f"{clock * 1000:9.1f} ms {processor * 1000:9.1f} ms  {what}{aim}", flush=True)
