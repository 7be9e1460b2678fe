"""kafka-python's own integration tests, from its source distribution: admin, consumer, producer, transactions.

They run in a pytest of their own against a broker with the settings that the project's continuous integration gives to
Apache Kafka.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.harness.client_suites import Excuses, SuiteCase, check, junit_cases
from compat_tests.harness.process import BrokerProcess, free_ports
from compat_tests.suites.kafka_python.unpacking import unpacked

SETTINGS = {
    "node.id": "0",
    "num.partitions": "4",
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
LIMIT_S = 300

_EXCUSES = {
    r"test_consumer_integration::test_kafka_consumer_offsets_for_time_old": "for brokers before 0.10.1",
    r"test_sasl_integration::.*": "skipped by the suite itself where the broker is not its own: its users are others",
    r"TestSSLConnection::.*": "starts a broker of its own, by scripts that the distribution leaves out",
}


def run_suite(folder: Path, broker: BrokerProcess, report: Path) -> Iterator[SuiteCase]:
    """Runs the suite's pytest; its cases."""
    command = [sys.executable, "-m", "pytest", "-c", "suite.ini", "--rootdir", ".", "-p", "one_broker"]
    command += ["-p", "no:cacheprovider", "-q", f"--junitxml={report}", "test/integration"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "KAFKA_VERSION": "4.3.1",
        "KAFKA_ROOT": str(folder),  # must be a folder; nothing in it is used
        "KAFKA_URI": f"kafka://{broker.bootstrap}",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if not report.exists():
        raise RuntimeError(f"the suite's pytest wrote no report:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    yield from junit_cases(report)


def test_suite(start_target: Callable[..., BrokerProcess], tmp_path: Path, subtests: pytest.Subtests) -> None:
    (port,) = free_ports(1)
    broker = start_target({**SETTINGS, "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}, port)
    cases = run_suite(unpacked(), broker, tmp_path / "report.xml")
    check(cases, Excuses(_EXCUSES), subtests)
