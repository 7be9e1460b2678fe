"""Runs the wanted suites that have no result yet, and writes the report of all results."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from scripts.conformance_job import report
from scripts.conformance_job.results import Result
from scripts.conformance_job.suites import SUITES, Suite, present
from scripts.jars import ROOT

FOLDER = ROOT / "build" / "conformance"
BROKERS = ("pykbroker", "kafka")


def main() -> int:
    options = _options()
    suites = present(SUITES)
    wanted = [suite for suite in suites if not options.suite or suite.name in options.suite]
    brokers = BROKERS if options.beside else (options.target,)
    try:
        for suite in wanted:
            for broker in brokers:
                if broker == "pykbroker" or suite.only_ours is None:
                    run(suite, broker, fresh=options.fresh)
    except KeyboardInterrupt:
        print("\nStopped; what is finished is kept, and the next run goes on from there.", file=sys.stderr)
        return 130
    results = {broker: read_results(broker, suites) for broker in BROKERS}
    table = report.markdown(suites, results)
    (FOLDER / "report.md").write_text(table)
    (FOLDER / "report.json").write_text(json.dumps(report.as_json(suites, results), indent=1))
    print(table)
    print(f"Also in {FOLDER.relative_to(ROOT)}: report.md, report.json, and what each suite printed.")
    return 1 if any(results["pykbroker"][suite.name].failed for suite in wanted if options.target == "pykbroker") else 0


def run(suite: Suite, broker: str, *, fresh: bool) -> None:
    """Run a suite, unless it has a result."""
    place = result_file(suite, broker)
    if place.exists() and not fresh:
        print(f"{suite.name} against {broker}: has a result already (--fresh runs it again)", file=sys.stderr)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    print(f"{suite.name} against {broker} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "scripts.conformance_job.recorder", str(suite.path)]
    unfinished = place.with_suffix(".unfinished")
    environment = {**os.environ, "PYKBROKER_TARGET": broker, "CONFORMANCE_RESULT": str(unfinished)}
    with place.with_suffix(".log").open("wb") as log:
        status = subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log, check=False).returncode
    if status not in (0, 1, 5):  # passed, failed, no tests collected; any other status is no result
        raise SystemExit(f"pytest ended with {status} for {suite.name}; see {place.with_suffix('.log')}")
    result = replace(Result.from_json(json.loads(unfinished.read_text())), commit=_commit())
    unfinished.unlink()
    place.write_text(json.dumps(result.as_json(), indent=1))
    print(
        f"  {result.passed} passed, {len(result.failed)} failed, {len(result.skipped)} skipped, {result.seconds:.0f} s",
        file=sys.stderr,
    )


def result_file(suite: Suite, broker: str) -> Path:
    return FOLDER / broker / f"{suite.name.replace('/', '-')}.json"


def read_results(broker: str, suites: list[Suite]) -> dict[str, Result]:
    """Return the stored results by suite."""
    return {
        suite.name: Result.from_json(json.loads(file.read_text()))
        for suite in suites
        if (file := result_file(suite, broker)).exists()
    }


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/conformance",
        description="Every compatibility suite, and clients' own ones, against pykbroker and Apache Kafka 4.4.0. Finished "
        "suites keep their results in build/conformance: a run that was stopped goes on where it was.",
    )
    parser.add_argument(
        "suite", nargs="*", help=f"these alone; of: {', '.join(suite.name for suite in present(SUITES))}"
    )
    parser.add_argument("--target", choices=BROKERS, default="pykbroker", help="the broker to run against")
    parser.add_argument("--beside", action="store_true", help="run against both brokers, suite by suite")
    parser.add_argument("--fresh", action="store_true", help="run suites again that have a result")
    options = parser.parse_args()
    strangers = set(options.suite) - {suite.name for suite in present(SUITES)}
    if strangers:
        parser.error(f"no such suite: {', '.join(sorted(strangers))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
