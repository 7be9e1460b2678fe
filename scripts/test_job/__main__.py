"""Runs the checks, then the tests in two lanes; or the quick part of both; or pytest with the arguments given."""

from __future__ import annotations

import os
import signal
import sys
import time

from scripts.test_job.checks import check
from scripts.test_job.lanes import Lane, run
from scripts.test_job.options import options

#: Unit and property tests: no broker of another kind, no client but our own.
UNIT = ("wire", "pykbroker", "scripts")
#: What runs on top of Kafka, and what starts other brokers and many clients, waits for itself most of the time, so it runs
#: beside the others.
BESIDE = tuple(
    f"compat_tests/{suite}"
    for suite in (
        *("spark", "lake", "demo", "connect", "mirror", "streams", "suites"),
        *("releases", "security", "authorization", "quotas", "sessions", "testing_faults", "tools", "snippets"),
    )
)


def main() -> int:
    given = options()
    if given.arguments:
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *given.arguments])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begun = time.monotonic()
    failed = check()
    if failed:
        print(f"\n{failed} failed; no test was run.", file=sys.stderr)
        return 1
    if given.quick:
        print(
            f"Lint and types are right ({time.monotonic() - begun:.0f} s). Unit and property tests follow.", flush=True
        )
        os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *UNIT])
    return run(
        [
            Lane("beside", BESIDE),
            Lane("all others", tuple(f"--ignore={suite}" for suite in BESIDE)),
        ]
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
