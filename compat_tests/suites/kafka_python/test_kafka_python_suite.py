"""kafka-python's own integration tests, from its source distribution: admin, consumer, producer, transactions, SASL, TLS.

They run in a pytest of their own against a broker with the settings that the project's continuous integration gives to
Apache Kafka.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

import pytest

from compat_tests.harness.client_suites import Excuses, SuiteCase, check, junit_cases
from compat_tests.security.listeners import USERS, Listeners
from compat_tests.security.users import add_users
from compat_tests.suites.conftest import StartSecured
from compat_tests.suites.kafka_python.unpacking import unpacked

SETTINGS = {
    "node.id": "0",
    "num.partitions": "4",
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
#: Seconds after which a case counts as one that hangs. The longest takes a twentieth of that.
_HANGS_AFTER_S = 150

_EXCUSES = {
    r"test_consumer_integration::test_kafka_consumer_offsets_for_time_old": "for brokers before 0.10.1",
}


#: A consumer without a group that subscribes while the answer to its first request for metadata, which names no topic, is on its way
#: takes that for the answer about its topics, and asks no more for five minutes: it falls silent, with Apache Kafka as well. So
#: cases with consumers that fail are told by their second try. In one of some 300 runs a consumer in a group, which had joined it twice
#: within 0.1 s, had no partitions and sent no heartbeat: it polls without a rest, and the broker is asked nothing. `test_heartbeat_thread`
#: waits for its partitions without a limit, so the suite is run again.
_RACING = ("test_consumer_integration::", "test_producer_integration::")


class NoReportError(Exception):
    """A case did not end, and the suite's pytest with it. Its text has what that printed last, and where each thread stood."""


def run_suite(folder: Path, listeners: Listeners, reports: Path) -> Iterator[SuiteCase]:
    """Runs the suite's pytest; its cases. Reports and certificates go to ``reports``. Raises NoReportError."""
    run = partial(_run, folder, listeners, _certificates(listeners, reports / "tls"))
    cases = run(reports / "report.xml", ["test/integration"])
    racing = {case.name for case in cases if case.outcome == "failed" and case.name.startswith(_RACING)}
    yield from (case for case in cases if case.name not in racing)
    if racing:
        yield from run(reports / "again.xml", [f"test/integration/{name.replace('::', '.py::', 1)}" for name in racing])


def _run(
    folder: Path, listeners: Listeners, certificates: Path, report: Path, requested: Collection[str]
) -> list[SuiteCase]:
    command = [sys.executable, "-m", "pytest", "-c", "suite.ini", "--rootdir", ".", "-p", "running_broker"]
    command += ["-o", f"faulthandler_timeout={_HANGS_AFTER_S}", "-o", "faulthandler_exit_on_timeout=true"]
    command += ["-p", "no:cacheprovider", "-v", f"--junitxml={report}", *requested]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "KAFKA_VERSION": "4.3.1",
        "KAFKA_ROOT": str(folder),  # must be a folder; nothing in it is used
        "RUNNING_BROKER": json.dumps(listeners.ports),
        "RUNNING_BROKER_CERTIFICATES": str(certificates),
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if not report.exists():
        raise NoReportError("\n".join([done.stdout[-200:], *_frames(done.stderr)]))
    return list(junit_cases(report))


def _frames(printed: str) -> list[str]:
    """The lines of what an interpreter prints as it dies, without those of pytest."""
    return [line for line in printed.splitlines() if "/_pytest/" not in line and "/pluggy/" not in line][-60:]


def _certificates(listeners: Listeners, folder: Path) -> Path:
    """A folder that has the authority's certificate by the name that the suite reads."""
    folder.mkdir(parents=True)
    (folder / "ca-cert").write_bytes(listeners.files.authority.read_bytes())
    return folder


def test_suite(start_secured: StartSecured, tmp_path: Path, subtests: pytest.Subtests) -> None:
    listeners = start_secured(SETTINGS)
    add_users(listeners.address("PLAINTEXT"), {"alice": USERS["alice"]})
    for reports in ("first", "second"):
        try:
            cases = list(run_suite(unpacked(), listeners, tmp_path / reports))
            break
        except NoReportError as hanging:
            with subtests.test(msg="a case that hangs"):
                pytest.skip(f"told by the next run of the suite, since this did not end: {hanging}")
    else:
        cases = list(run_suite(unpacked(), listeners, tmp_path / "last"))
    check(cases, Excuses(_EXCUSES), subtests)
