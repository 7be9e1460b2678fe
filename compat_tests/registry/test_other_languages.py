"""Clients of schema registries in Go (franz-go's sr, srclient) and JavaScript (kafkajs's, and Confluent's, whose many packages take long).

The cases are in ``go/cases.go``, ``kafkajs/cases.js`` and ``confluent_js/cases.js``; srclient's are its own integration tests. Skipped
where Go or Node is not installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.go_cases import GO, GoCases
from compat_tests.harness.go_tests import module_copy, run_tests
from compat_tests.harness.java import ROOT
from compat_tests.harness.node_packages import installed
from pykbroker.testing import Kafka

HERE = Path(__file__).parent
NODE = shutil.which("node") if shutil.which("npm") else None
RUN = HERE.parent / "kafkajs" / "program" / "run.js"


def run(command: list[str], url: str) -> None:
    """Run a program of cases, each of which says that it passed."""
    done = subprocess.run([*command, url], capture_output=True, text=True, timeout=120, check=False)
    results = re.findall(r"^CASE (\w+) (PASS|FAIL)", done.stdout, re.MULTILINE)
    assert results, done.stderr
    assert all(result == "PASS" for _, result in results), done.stdout


@pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")
def test_franz_go(kafka: Kafka) -> None:
    run(GoCases(HERE / "go" / "cases.go").command("", [])[:1], kafka.schema_registry_url)


@pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")
def test_the_integration_tests_of_srclient(kafka: Kafka) -> None:
    try:
        folder = module_copy("github.com/riferrei/srclient", "v0.7.2", ROOT / "build" / "srclient")
        subprocess.run([str(GO), "mod", "download"], cwd=folder, check=True)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        pytest.skip(f"srclient cannot be downloaded: {error}")
    environment = {"SRCLIENT_URL": kafka.schema_registry_url, "GOFLAGS": "-tags=integration"}
    cases = run_tests(folder, ["TestGetSubjects", "TestCreateSchema"], environment, 120)
    assert {case.name: case.outcome for case in cases} == {"TestGetSubjects": "passed", "TestCreateSchema": "passed"}


@pytest.mark.skipif(NODE is None, reason="Node is not installed (on Debian: apt-get install nodejs npm)")
@pytest.mark.parametrize("client", ["kafkajs", pytest.param("confluent_js", marks=takes_long)])
def test_in_javascript(kafka: Kafka, client: str) -> None:
    folder = installed(HERE / client / "package.json")
    for source in (HERE / client / "cases.js", RUN):
        shutil.copy(source, folder)
    run([str(NODE), str(folder / "cases.js")], kafka.schema_registry_url)
