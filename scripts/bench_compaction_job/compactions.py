"""Loads both brokers, lets each compact in turn, and prints the table."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.java import JavaMissing
from compat_tests.harness.process import BrokerProcess, ServerFailed
from scripts.bench_compaction_job.bystander import Latencies, produce_for, producing
from scripts.bench_compaction_job.data import begin_compaction, load, wait_until_clean
from scripts.bench_job.brokers import make_pair
from scripts.jars import JarsUnavailable

#: log.cleaner.backoff.ms of both, whose default is 15 seconds.
_SETTINGS = {
    "log.cleaner.backoff.ms": "500",
}
_EXPLANATION = (
    "{keys:,} keys, each written twice with values of {value_bytes} bytes. Until clean: from the change of cleanup.policy until no "
    "key is there twice. CPU: of the broker with its child processes, in that time, its producer's requests included. Latency: of "
    "a producer on another topic, one record of 1 KiB at a time with acks=all."
)


@dataclass(frozen=True)
class Outcome:
    """The result of one broker."""

    before: int
    left: int
    took_s: float
    cpu_s: float
    quiet: Latencies
    meanwhile: Latencies


def main(options: argparse.Namespace) -> int:
    try:
        with tempfile.TemporaryDirectory(prefix="pykbroker-compaction-", dir=options.folder) as folder:
            kafka, ours = (run(broker, options) for broker in make_pair(Path(folder), _SETTINGS))
    except (JavaMissing, JarsUnavailable, ServerFailed, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print("| | Apache Kafka | pykbroker |\n|---|---:|---:|")
    for row in zip(_cells(kafka), _cells(ours), strict=True):
        (label, theirs), (_, mine) = row
        print(f"| {label} | {theirs} | {mine} |")
    print()
    print(_EXPLANATION.format(keys=options.keys, value_bytes=options.value_bytes))
    return 0


def run(broker: BrokerProcess, options: argparse.Namespace) -> Outcome:
    """Load, measure latency for a while, then measure compaction."""
    broker.start()
    try:
        before = load(broker, options.keys, options.value_bytes)
        _say(f"{broker.name}: {before / 1e6:,.0f} MB written")
        quiet = produce_for(broker, options.quiet_s)
        with producing(broker) as meanwhile:
            cpu, begun = broker.cpu_seconds(children=True), time.perf_counter()
            begin_compaction(broker)
            left = wait_until_clean(broker, before)
            took = time.perf_counter() - begun
        cpu = broker.cpu_seconds(children=True) - cpu
        _say(f"{broker.name}: clean after {took:.1f} s, {left / 1e6:,.0f} MB left")
        return Outcome(before, left, took, cpu, quiet, meanwhile)
    finally:
        broker.stop()


def _cells(of: Outcome) -> list[tuple[str, str]]:
    quiet, meanwhile = of.quiet, of.meanwhile
    return [
        ("until clean", f"{of.took_s:.1f} s"),
        ("CPU", f"{of.cpu_s:.1f} s"),
        ("bytes before", f"{of.before / 1e6:,.0f} MB"),
        ("bytes left", f"{of.left / 1e6:,.0f} MB"),
        ("produce latency without compaction: median", f"{quiet.median_ms:.2f} ms"),
        ("99th percentile", f"{quiet.p99_ms:.2f} ms"),
        ("maximum", f"{quiet.max_ms:.1f} ms"),
        ("produce latency during compaction: median", f"{meanwhile.median_ms:.2f} ms"),
        ("99th percentile", f"{meanwhile.p99_ms:.2f} ms"),
        ("maximum", f"{meanwhile.max_ms:.1f} ms"),
    ]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
