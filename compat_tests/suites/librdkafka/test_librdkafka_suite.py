"""librdkafka's own tests, those that ask a broker: from the package of its JavaScript client, which ships the library's sources.

They are built by cc and make, and take some ten minutes; so they run where LIBRDKAFKA_TESTS=1 asks for them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.harness.client_suites import UNPACKED, Excuses, Outcome, SuiteCase, check
from compat_tests.harness.kafka_tools import tool_command
from compat_tests.suites.conftest import StartSecured

_TOOLS = ("npm", "gcc", "g++", "make")
pytestmark = [
    pytest.mark.skipif(not os.environ.get("LIBRDKAFKA_TESTS"), reason="takes ten minutes: LIBRDKAFKA_TESTS=1 runs it"),
    pytest.mark.skipif(not all(map(shutil.which, _TOOLS)), reason=f"one of {', '.join(_TOOLS)} is not installed"),
]

PACKAGE, VERSION = "@confluentinc/kafka-javascript", "1.10.1"
#: Quick mode, without tests that need no broker, and without those whose sockets the suite takes over.
OPTIONS = ("-Q", "-L", "-E", "-p3")
LIMIT_S = 1500

_NO_JSON = "is built without RapidJSON"
_SIGNED_IN = "for brokers that ask clients to sign in"
_ALWAYS = {
    "0053_stats|0098_consumer_txn|0101_fetch_from_follower|0110_batch_size": _NO_JSON,
    "0082_fetch_max_bytes": "the suite skips it in quick mode",
    "0103_transactions": "wants three brokers",
    "0092_mixed_msgver": "the suite skips it for Apache Kafka from 4.0 on",
    "0097_ssl_verify|0126_oauthbearer_oidc|0135_sasl_credentials|0142_reauthentication": _SIGNED_IN,
}
_COLOURS = re.compile(r"\x1b\[\d*m")
#: A row of the table that the runner prints at its end.
_CASE = re.compile(r"^\| (\w+) +\| +(PASSED|FAILED|SKIPPED) \| +[\d.]+s \| *(.*)$", re.MULTILINE)
_NOT_WANTED = "Filtered due to negative test flags"
_OUTCOMES: dict[str, Outcome] = {"PASSED": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def _built() -> Path:
    """The folder of the tests, built once."""
    folder = UNPACKED / f"librdkafka-{VERSION}"
    sources = folder / "package" / "deps" / "librdkafka"
    if not (sources / "tests" / "test-runner").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=folder, check=True, capture_output=True, text=True
        )
        with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
            archive.extractall(folder, filter="data")
        (sources / "configure").chmod(0o755)
        for command in (["./configure", "--disable-gssapi"], ["make", "-j2", "libs"]):
            subprocess.run(command, cwd=sources, check=True, capture_output=True)
        subprocess.run(["make", "-j2", "test-runner"], cwd=sources / "tests", check=True, capture_output=True)
    return sources / "tests"


def _tools(folder: Path) -> None:
    """Kafka's tools that the tests run, by their names in Kafka's folder."""
    (folder / "bin").mkdir()
    for tool in ("acls", "topics"):
        script = folder / "bin" / f"kafka-{tool}.sh"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(tool_command(tool))} "$@"\n')
        script.chmod(0o755)


def _cases(printed: str) -> Iterator[SuiteCase]:
    """The rows of the table, without those of tests that were not asked for."""
    for name, outcome, said in _CASE.findall(_COLOURS.sub("", printed)):
        if said.strip() != _NOT_WANTED:
            yield SuiteCase(name, _OUTCOMES[outcome], said)


def test_suite(start_secured: StartSecured, tmp_path: Path, subtests: pytest.Subtests) -> None:
    address = start_secured({"num.partitions": "4"}).address("PLAINTEXT")
    folder = _built()
    (folder / "test.conf").write_text(
        f"metadata.broker.list={address}\ntest.topic.random=true\ntest.timeout.multiplier=2\n"
    )
    _tools(tmp_path)
    environment = {
        "LD_LIBRARY_PATH": "../src:../src-cpp",
        "TEST_KAFKA_VERSION": "4.4.0",
        "KAFKA_PATH": str(tmp_path),
        "BROKERS": address,
    }
    done = subprocess.run(
        ["./test-runner", *OPTIONS],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=LIMIT_S,
        check=False,
    )
    # Its exit code says nothing: in quick mode some tests leave threads behind, with Apache Kafka as well.
    check(_cases(done.stdout), Excuses(_ALWAYS), subtests)
