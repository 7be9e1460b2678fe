"""Runs the rounds and prints the table."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from compat_tests.harness.java import JavaMissing
from compat_tests.harness.process import BrokerProcess, ServerFailed
from scripts.bench_job import instructions, plans, turns
from scripts.bench_job.brokers import make_pair
from scripts.bench_job.counted import ValgrindMissing
from scripts.bench_job.java_tools import ToolFailed
from scripts.bench_job.plans import Load
from scripts.bench_job.readings import Comparison, Reading, compare
from scripts.bench_job.table import markdown
from scripts.jars import JarsUnavailable

_EXPLANATION = (
    "Medians of {rounds} round(s), both brokers in turn on {cores} cores that they share with the client. "
    "The ratio is pykbroker's cost (time, CPU or memory) over that of {other} in the same round: below 1, pykbroker needs less. "
    "CPU seconds are those of the broker's process."
)
Pairs = dict[str, list[tuple[Reading, Reading]]]


def main(options: argparse.Namespace) -> int:
    if options.turns:
        print(turns.markdown(turns.measure(options.rounds, options.before)))
        return 0
    if options.instructions:
        return _count(options.before)
    try:
        with tempfile.TemporaryDirectory(prefix="pykbroker-bench-", dir=options.folder) as folder:
            comparisons = run(options, Path(folder))
    except (JavaMissing, JarsUnavailable, ServerFailed, ToolFailed, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    other = "Apache Kafka" if options.before is None else "before"
    rounds = 1 if options.quick else options.rounds
    print(markdown(comparisons, other))
    print()
    print(_EXPLANATION.format(rounds=rounds, cores=os.cpu_count(), other=other))
    return 0


def _count(before: Path | None) -> int:
    try:
        print(instructions.markdown(instructions.measure(before)))
    except (ValgrindMissing, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run(options: argparse.Namespace, folder: Path) -> list[Comparison]:
    """All rounds. The folder is used up."""
    pair = make_pair(folder, before=options.before)
    try:
        for broker in pair:
            broker.start()
        if options.quick:
            return _measure(pair, _chosen(plans.quick(folder), options.only), 1)
        _say("warming up")
        _round(pair, _chosen(plans.warm_up(), options.only), "warm-up")
        loads = plans.full(folder)
        if options.before is not None and not options.only:
            for name in plans.left_out_before(options.before):
                _say(f"{name} is left out: {options.before} is from before pykbroker spoke TLS")
                del loads[name]
        return _measure(pair, _chosen(loads, options.only), options.rounds)
    finally:
        for broker in pair:
            broker.stop()


def _chosen(loads: dict[str, Load], only: list[str] | None) -> list[Load]:
    return [load for name, load in loads.items() if not only or name in only]


def _measure(pair: tuple[BrokerProcess, BrokerProcess], loads: list[Load], rounds: int) -> list[Comparison]:
    rows: Pairs = {}
    for number in range(1, rounds + 1):
        for row, readings in _round(pair, loads, f"round {number}").items():
            rows.setdefault(row, []).append(readings)
    return [compare(pairs) for pairs in rows.values()]


def _round(
    pair: tuple[BrokerProcess, BrokerProcess], loads: list[Load], title: str
) -> dict[str, tuple[Reading, Reading]]:
    """Every load once on each broker, one broker right after the other."""
    rows: dict[str, tuple[Reading, Reading]] = {}
    for position, load in enumerate(loads):
        topic = f"{title.replace(' ', '-')}-{position}"
        kafka, ours = (load.run(broker, topic) for broker in pair)
        for theirs, mine in zip(kafka, ours, strict=True):
            rows[theirs.row] = theirs, mine
            _say(f"{title}: {theirs.row}: {theirs.show(theirs.cost)} | {mine.show(mine.cost)}")
    return rows


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
