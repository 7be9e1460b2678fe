"""``python -m compat_tests.worlds.hunt``: finds each planted bug by seeds, lives its corrected twin by more, and prints a row for each.

A process of its own, since aiokafka's compiled modules, which read the machine's clock, must not be imported in it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

os.environ["AIOKAFKA_NO_EXTENSIONS"] = "1"

from compat_tests.worlds import committing, producing, rebalancing  # noqa: F401 - they plant
from compat_tests.worlds.programs import BUGS
from pykbroker.worlds import World, explore


def hunt(name: str, seeds: int, twins: int) -> dict[str, Any]:
    """Find a bug, and live its twin."""
    what, scenario = BUGS[name]

    async def twin(world: World) -> None:
        await scenario(world, True)

    async def planted(world: World) -> None:
        await scenario(world, False)

    began = time.process_time()
    failure = explore(planted, range(1, seeds + 1), shrinking_runs=0)
    found = time.process_time() - began
    began = time.process_time()
    wrong = explore(twin, range(1, twins + 1), shrinking_runs=0)
    return {
        "name": name,
        "what": what,
        "seed": None if failure is None else failure.seed,
        "error": None if failure is None else f"{type(failure.error).__name__}: {failure.error}",
        "repeatable": failure is None or failure.repeatable,
        "seconds": round(found, 2),
        "twin": None if wrong is None else f"seed {wrong.seed}: {type(wrong.error).__name__}: {wrong.error}",
        "twin_seconds": round(time.process_time() - began, 2),
        "ms": round(1000 * (time.process_time() - began) / (twins + 1), 1),
    }


def rows(names: list[str], seeds: int, twins: int) -> Iterator[dict[str, Any]]:
    """A row for each bug."""
    yield from map(partial(hunt, seeds=seeds, twins=twins), names or list(BUGS))


def main() -> None:
    """Print a JSON object in a line for each bug."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--twins", type=int, default=20)
    parser.add_argument("--table", action="store_true", help="print the table of docs/worlds.md instead")
    given = parser.parse_args()
    for row in rows(given.names, given.seeds, given.twins):
        print(_in_table(row) if given.table else json.dumps(row), flush=True)


def _in_table(row: dict[str, Any]) -> str:
    found = "the calm life" if row["seed"] == 0 else f"seed {row['seed']}"
    return f"| {row['what']} | {found} | {row['seconds']:.1f} | {row['twin'] or 'none'} | {row['ms']:.0f} |"


if __name__ == "__main__":
    main()
