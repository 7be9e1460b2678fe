"""The tests that Confluent's client for Node ships with its package and that ask a registry, against the broker's: those of the client as a whole
(``e2e``), and those of serializers, which name a registry in memory, and in a comment one at an address.

All are given ours in its place, a fresh one for each file. Of the others in the package, ``e2e`` with records needs Confluent's client of brokers, whose
binaries are from no registry of packages; the rest ask a registry that is made of answers in the test, or token issuers.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.client_suites import Excuses, SuiteCase, check
from compat_tests.harness.node_packages import installed
from compat_tests.registry.test_other_languages import NODE
from pykbroker.testing import Kafka

HERE = Path(__file__).parent
_NOT_SERVED = {
    r".* encryption( .*)?": "asks the registry of keys for encryption, which is not served",
    r"\w+SerdeWithAssociatedNameStrategy (?!falls).*": "asks for associations, which are not served",
}
#: Files, and what need not pass in them.
FILES = {
    "e2e/schemaregistry-client": {
        r".* Should register, retrieve, and delete a schema": "wants a schema by its id without its guid, which clients in Python keep from there",
    },
    "test/serde/avro": {
        **_NOT_SERVED,
        r"AvroSerializer serialize bytes": "wants the id 1 where others were registered before, as the one in memory gives it again",
    },
    "test/serde/json": _NOT_SERVED,
    "test/serde/protobuf": _NOT_SERVED,
}


def run(folder: Path, name: str, url: str, report: Path) -> Iterator[SuiteCase]:
    """The cases of a file."""
    suite = folder / "suite"
    if not suite.exists():
        shutil.copytree(folder / "node_modules/@confluentinc/schemaregistry", suite)
    file = suite / f"dist/{name}.spec.js"
    named = 0
    for source in (file, suite / "dist/test/test-constants.js"):
        text, count = re.subn(
            r"^const (baseURL = |baseUrls = \[)'[^']*'", rf"const \1'{url}'", source.read_text(), flags=re.MULTILINE
        )
        source.write_text(text)
        named += count
    assert named == (1 if name.startswith("e2e") else 2), "it names its registry in another way"
    command = [str(NODE), "node_modules/jest/bin/jest.js", "--json", f"--outputFile={report}", str(file)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)
    assert report.exists(), done.stderr
    for each in json.loads(report.read_text())["testResults"]:
        for case in each["assertionResults"]:
            outcome = "skipped" if case["status"] == "pending" else case["status"]
            yield SuiteCase(case["fullName"], outcome, "\n".join(case["failureMessages"])[:2000])


@takes_long
@pytest.mark.skipif(NODE is None, reason="Node is not installed (on Debian: apt-get install nodejs npm)")
@pytest.mark.parametrize("name", FILES)
def test_file(kafka: Kafka, name: str, tmp_path: Path, subtests: pytest.Subtests) -> None:
    folder = installed(HERE / "confluent_js_suite" / "package.json")
    check(run(folder, name, kafka.schema_registry_url, tmp_path / "report.json"), Excuses(FILES[name]), subtests)
