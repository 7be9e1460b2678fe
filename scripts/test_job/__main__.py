"""Runs the checks beside the tests, in parts, several at a time; or the quick part of both, or that of the tests on other Pythons, or pytest
with arguments.
"""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.jars import ROOT
from scripts.test_job.checks import check
from scripts.test_job.options import options
from scripts.test_job.parts import Part, run

#: Unit and property tests: no other broker, and no client but our own.
UNIT = ("wire", "pykbroker", "scripts")
_TESTS = "pykbroker/tests"
#: Folders of unit tests that are parts of a whole run, the longest first.
_OWN_PARTS = {
    "requests": tuple(f"{_TESTS}/{room}" for room in ("handlers", "requests")),
    "storage": (f"{_TESTS}/storage",),
}
#: What runs the unit tests of a whole run: an environment with what --quick installs and no more (scripts/test makes it).
_QUICK_PYTHON = ROOT / "build" / "quick" / "bin" / "python"
#: Unit tests of packages that it lacks, where they are skipped: Spark's, and gssapi.
_OF_EXTRAS = (
    "pykbroker/tests/lake",
    "pykbroker/tests/security/kerberos",
    "pykbroker/tests/security/sasl/test_gssapi.py",
    "pykbroker/tests/network/test_admission_tickets.py",
    "pykbroker/tests/process/test_kerberos.py",
)
#: Folders and files of a quick run that make up a part, the longest part first. Unnamed ones make up one that is longer.
_QUICK = {
    "testing": (f"{_TESTS}/testing",),
    "http": (f"{_TESTS}/http",),
    "commands": (f"{_TESTS}/cli",),
    "wire": ("wire", "scripts"),
    "steered": (f"{_TESTS}/steered",),
    "process": tuple(f"{_TESTS}/{room}" for room in ("process", "sessions")),
    "groups": tuple(
        f"{_TESTS}/{room}" for room in ("brokers", "coordination", "partitions", "replication", "share_partitions")
    ),
    "requests": tuple(f"{_TESTS}/{room}" for room in ("handlers", "requests")),
    "storage": tuple(f"{_TESTS}/{room}" for room in ("storage", "simulation")),
}
#: Set in quick runs: models look less deep (pykbroker/tests/kit/depth.py).
QUICK_VARIABLE = "PYKBROKER_QUICK"
#: The interpreters of other Pythons, in environments that scripts/test has made, as PATH has folders.
_OTHER_PYTHONS = [Path(each) for each in os.environ.get("TEST_PYTHONS", "").split(os.pathsep) if each]
#: pytest's arguments in quick runs.
_THINNED = ("-q", "-p", "scripts.test_job.thinning")
#: Parts beyond one per processor: in quick runs, tests wait for real time as long as they use a processor, and in whole runs, for
#: other brokers and processes half of the time, beside a part of unit tests that takes what is left.
_WAITING, _WAITING_FOR_OTHERS = 2, 3
#: How nice unit tests are to the other parts of a whole run. They take what these leave of the processors: clients of others give up
#: after some seconds, unit tests do not.
_NICE = 5
#: Suites of compat_tests that make up a part, the longest part first. Unnamed ones make up a part, too, so that a new suite
#: is run.
_SUITES = {
    "lake": ("lake",),
    "oracle": ("oracle", "releases", "settings"),
    "delivery": ("bench", "console", "image", "packages", "prometheus", "snippets"),
    "tools": ("brokers", "cli", "directories", "tools"),
    "security": ("authorization", "quotas", "security", "sessions", "testing_faults"),
    "spark": ("spark", "demo"),
    "suites": ("suites",),
    "upon-kafka": ("connect", "mirror", "streams"),
}


def parts() -> list[Part]:
    """Return all parts, the longest first, so that those that run at the end are short ones and end together. Nice ones count as long."""
    there = {
        name: tuple(f"compat_tests/{suite}" for suite in suites if (ROOT / "compat_tests" / suite).is_dir())
        for name, suites in _SUITES.items()
    }
    named = [suite for suites in there.values() for suite in suites]
    python = str(_QUICK_PYTHON) if _QUICK_PYTHON.exists() else sys.executable
    own = [Part(name, folders, python, nice=_NICE) for name, folders in _OWN_PARTS.items()]
    left_out = (f"--ignore={folder}" for part in own for folder in part.arguments)
    units = Part("units", (*UNIT, *left_out), python, nice=_NICE)
    others = Part("others", ("compat_tests", *(f"--ignore={suite}" for suite in named)))
    lake, oracle, delivery, *shorter = (Part(name, suites) for name, suites in there.items())
    return [lake, units, oracle, delivery, others, *own, *_on_other_pythons(), *shorter, Part("extras", _OF_EXTRAS)]


def _on_other_pythons() -> list[Part]:
    """Return a part for each: a quick run of the unit tests but those of the scripts."""
    tested, quick = [each for each in UNIT if each != "scripts"], {QUICK_VARIABLE: "1"}
    return [
        Part(_version(python), (*_THINNED, *tested), str(python), nice=_NICE, environment=quick)
        for python in _OTHER_PYTHONS
    ]


def _version(python: Path) -> str:
    """Return the name of the environment: py3.12."""
    return python.parent.parent.name


def main() -> int:
    given = options()
    # A shell starts what ends with & so that it ignores Ctrl-C, and what the tests start would inherit that: they send SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if given.arguments:
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *given.arguments])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if given.quick or given.pythons:
        os.environ[QUICK_VARIABLE] = "1"
    processors = os.cpu_count() or 1
    if given.pythons:
        others = [part for python in _OTHER_PYTHONS for part in quick_parts(str(python), f"{_version(python)}-")]
        return run(others, at_once=processors + _WAITING)
    with ThreadPoolExecutor(1) as beside:
        checked = beside.submit(check)
        waiting = _WAITING if given.quick else _WAITING_FOR_OTHERS
        status = run(quick_parts() if given.quick else parts(), at_once=processors + waiting)
        failed = checked.result()
    if failed:
        print(f"\n{failed} failed; its output is at the beginning.", file=sys.stderr)
    return status or int(bool(failed))


def quick_parts(python: str = sys.executable, prefix: str = "quick-") -> list[Part]:
    """Return the unit tests in parts of about the same length: each test is collected by one process."""
    parts = [Part(f"{prefix}{name}", (*_THINNED, *paths), python) for name, paths in _QUICK.items()]
    named = [path for paths in _QUICK.values() for path in paths]
    rest = (each for each in UNIT if each not in named)  # what is named is not ignored
    left_out = (f"--ignore={path}" for path in named)
    return [Part(f"{prefix}others", (*_THINNED, *rest, *left_out), python), *parts]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
