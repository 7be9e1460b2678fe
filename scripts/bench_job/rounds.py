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
from scripts.bench_job.brokers import OnPython, RunningBroker, make_pair
from scripts.bench_job.counted import ValgrindMissing
from scripts.bench_job.java_tools import ToolFailed
from scripts.bench_job.plans import OF_OUR_OWN, Load
from scripts.bench_job.readings import Comparison, Reading, compare
from scripts.bench_job.table import markdown
from scripts.jars import JarsUnavailable

_EXPLANATION = (
    "Medians of {rounds} round(s), both brokers in turn on {cores} cores that they share with the client. "
    "The ratio is pykbroker's cost (time, CPU or memory) over that of {other} in the same round: below 1, pykbroker needs less. "
    "CPU seconds are those of the broker's process."
)
OURS = "pykbroker"
Pairs = dict[str, list[tuple[Reading, Reading]]]
Sides = dict[str, BrokerProcess]


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
    for other, rows in comparisons.items():
        print(markdown(rows, other))
        print()
        print(_EXPLANATION.format(rounds=options.rounds, cores=os.cpu_count(), other=other))
    return 0


def _count(before: Path | None) -> int:
    try:
        print(instructions.markdown(instructions.measure(before)))
    except (ValgrindMissing, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run(options: argparse.Namespace, folder: Path) -> dict[str, list[Comparison]]:
    """Run all rounds, in this folder; what each other broker had beside pykbroker."""
    loads = plans.quick(folder) if options.quick else plans.full(folder)
    if options.before is not None and not options.only:
        for name in plans.left_out_before(options.before):
            _say(f"{name} is left out: {options.before} has not what it needs")
            loads.pop(name, None)
    chosen = _chosen(loads, options.only)
    rows: dict[str, Pairs] = {}
    warm: Sides = {}
    try:
        for number in range(1, options.rounds + 1):
            if not warm or options.before is not None:
                _stop(warm)
                warm = _warm(options, folder / f"pair-{number}")
            for side, readings in _round(warm, chosen, f"round {number}", backwards=number % 2 == 0).items():
                for mine, theirs in readings:
                    rows.setdefault(side, {}).setdefault(theirs.row, []).append((theirs, mine))
    finally:
        _stop(warm)
    return {side: [compare(pairs) for pairs in found.values()] for side, found in rows.items()}


def _warm(options: argparse.Namespace, folder: Path) -> Sides:
    """Return running, warm brokers by the names of the tables, pykbroker last.

    Two checkouts of pykbroker have new processes in each round: the memory layout of a process changes its speed by a
    tenth for as long as it lives.
    """
    other, mine = make_pair(folder, before=options.before, hasty=options.quick)
    sides = {"Apache Kafka" if options.before is None else "before": other}
    sides |= {each.name: RunningBroker(*each) for each in options.beside}
    for uvloop, chosen in ((True, options.python), (False, options.asyncio)):
        sides |= {name: OnPython(name, folder / name, command, uvloop=uvloop) for name, command in chosen}
    sides[OURS] = mine
    try:
        for broker in sides.values():
            broker.start()
        if not options.quick:
            _say("warming up")
            _round(sides, _chosen(plans.warm_up(python=options.before is not None), options.only), "warm-up")
    except BaseException:
        _stop(sides)
        raise
    return sides


def _stop(sides: Sides) -> None:
    for broker in sides.values():
        broker.stop()


def _chosen(loads: dict[str, Load], only: list[str] | None) -> dict[str, Load]:
    return {name: load for name, load in loads.items() if not only or name in only}


def _round(
    sides: Sides, loads: dict[str, Load], title: str, *, backwards: bool = False
) -> dict[str, list[tuple[Reading, Reading]]]:
    """Run every load once on each broker, one right after the other; pykbroker's readings and those of each other broker.

    Rounds alternate which broker is first: the second one's time includes writes that the kernel deferred from the
    first.
    """
    rows: dict[str, list[tuple[Reading, Reading]]] = {}
    for position, (name, load) in enumerate(loads.items()):
        topic = f"{title.replace(' ', '-')}-{position}"
        taking = [
            each
            for each, broker in sides.items()
            if not (isinstance(broker, OnPython | RunningBroker) and name in OF_OUR_OWN)
        ]
        found = {each: load.run(sides[each], topic) for each in (reversed(taking) if backwards else taking)}
        mine = found.pop(OURS)
        for side, readings in found.items():
            pairs = list(zip(mine, readings, strict=True))
            rows.setdefault(side, []).extend(pairs)
            for ours, theirs in pairs:
                _say(f"{title}: {theirs.row}: {side} {theirs.show(theirs.cost)} | {ours.show(ours.cost)}")
    return rows


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
