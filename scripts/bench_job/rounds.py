"""Runs the rounds and prints the table."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from compat_tests.harness.java import JavaMissing
from compat_tests.harness.process import BrokerProcess, ServerFailed
from scripts.bench_job import instructions, memory_bound, plans, request_quota, stalls, turns
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
    if options.stalls is not None:
        print(stalls.markdown(stalls.measure(options.rounds, options.folder, options.stalls)))
        return 0
    if options.request_quota:
        print(request_quota.markdown(request_quota.measure(options.rounds, options.folder)))
        return 0
    if options.memory_bound:
        print(memory_bound.markdown(memory_bound.measure(options.rounds, options.folder)))
        return 0
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
    """Run all rounds, in this folder."""
    loads = plans.quick(folder) if options.quick else plans.full(folder)
    if options.before is not None and not options.only:
        for name in plans.left_out_before(options.before):
            _say(f"{name} is left out: {options.before} has not what it needs")
            loads.pop(name, None)
    chosen = _chosen(loads, options.only)
    rows: Pairs = {}
    warm: tuple[BrokerProcess, BrokerProcess] | None = None
    try:
        for number in range(1, 2 if options.quick else options.rounds + 1):
            if warm is None or options.before is not None:
                _stop(warm)
                warm = _warm_pair(options, folder / f"pair-{number}")
            for row, readings in _round(warm, chosen, f"round {number}", ours_first=number % 2 == 0).items():
                rows.setdefault(row, []).append(readings)
    finally:
        _stop(warm)
    return [compare(pairs) for pairs in rows.values()]


def _warm_pair(options: argparse.Namespace, folder: Path) -> tuple[BrokerProcess, BrokerProcess]:
    """Yield two running, warm brokers.

    Two checkouts of pykbroker have new processes in each round: the memory layout of a process changes its speed by a
    tenth for as long as it lives.
    """
    pair = make_pair(folder, before=options.before, hasty=options.quick)
    try:
        for broker in pair:
            broker.start()
        if not options.quick:
            _say("warming up")
            _round(pair, _chosen(plans.warm_up(python=options.before is not None), options.only), "warm-up")
    except BaseException:
        _stop(pair)
        raise
    return pair


def _stop(pair: tuple[BrokerProcess, BrokerProcess] | None) -> None:
    for broker in pair or ():
        broker.stop()


def _chosen(loads: dict[str, Load], only: list[str] | None) -> list[Load]:
    return [load for name, load in loads.items() if not only or name in only]


def _round(
    pair: tuple[BrokerProcess, BrokerProcess], loads: list[Load], title: str, *, ours_first: bool = False
) -> dict[str, tuple[Reading, Reading]]:
    """Run every load once on each broker, one right after the other.

    Rounds alternate which broker is first: the second one's time includes writes that the kernel deferred from the
    first.
    """
    other, mine = pair
    rows: dict[str, tuple[Reading, Reading]] = {}
    for position, load in enumerate(loads):
        topic = f"{title.replace(' ', '-')}-{position}"
        found = {broker: load.run(broker, topic) for broker in ((mine, other) if ours_first else pair)}
        for theirs, ours in zip(found[other], found[mine], strict=True):
            rows[theirs.row] = theirs, ours
            _say(f"{title}: {theirs.row}: {theirs.show(theirs.cost)} | {ours.show(ours.cost)}")
    return rows


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
