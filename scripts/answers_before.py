"""Compares the responses of this checkout with those of another, over the oracle's cases.

``python -m scripts.answers_before CHECKOUT``. Both run on this checkout's Python. Values that depend on the run are
normalized as for the oracle (compat_tests/oracle), so each difference comes from a change of the code. It exits with 1
if there are any.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compat_tests.oracle.cases import Case, all_cases
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.requests import Ask
from scripts.bench_job.brokers import make_pair


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m scripts.answers_before", description=__doc__)
    parser.add_argument("checkout", type=Path, help="another checkout of pykbroker (git worktree add)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their names")
    given = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory(prefix="pykbroker-answers-") as folder:
        for line in differences(Path(folder), given.checkout, given.only):
            found += 1
            print(line, flush=True)
    print(f"{found} differences")
    return 1 if found else 0


def differences(folder: Path, checkout: Path, only: str) -> Iterator[str]:
    """Yield each difference with its case and version; the earlier response comes first."""
    pair = make_pair(folder, before=checkout)
    try:
        for broker in pair:
            broker.start()
            ask = Ask(broker.bootstrap, 0, "waiting")
            ask.wait_for_coordinators()
            ask.close()
        with ThreadPoolExecutor(len(pair)) as threads:
            for case in all_cases():
                for version in case.versions if only in case.name else ():
                    name = f"{case.name.replace('/', '.')}-v{version}"
                    before, now = threads.map(lambda broker: _answers(broker.bootstrap, case, version, name), pair)  # noqa: B023
                    for each in divergences(before, now):
                        if not (str(folder) in str(each.kafka) and str(folder) in str(each.ours)):  # each has its own
                            yield f"{name}: {each.path}\n    before: {each.kafka!r}\n    now:    {each.ours!r}"
    finally:
        for broker in pair:
            broker.stop()


def _answers(address: str, case: Case, version: int, name: str) -> list[object]:
    ask = Ask(address, version, name)
    try:
        case.ask(ask)
    except Exception as error:  # noqa: BLE001 - a case that fails on one of them is a difference, too
        ask.answers.append(f"{type(error).__name__}: {error}")
    finally:
        ask.close()
    return ask.answers


if __name__ == "__main__":
    sys.exit(main())
