"""kafkajs, a client written in JavaScript: gzip and plain batches, acks, idempotence, headers, groups, offsets, admin.

The cases are in ``program/cases.js``. Skipped where Node or npm is not installed. Left out: snappy, lz4 and zstd (the client has them only
through further packages), transactions, access lists.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat_tests.harness.node_packages import installed
from compat_tests.harness.program_cases import ProgramCases, wanted_cases

NODE, NPM = shutil.which("node"), shutil.which("npm")
pytestmark = pytest.mark.skipif(
    not (NODE and NPM), reason="Node is not installed (on Debian: apt-get install nodejs npm)"
)


@dataclass
class NodeCases(ProgramCases):
    """The cases of one JavaScript file; its packages are installed beside a copy of it, under ``build``."""

    declaration = re.compile(r"^  (?:async )?(\w+)(?:\(\) \{|: \(\) =>)", re.MULTILINE)

    def command(self, bootstrap: str, wanted: list[str]) -> list[str]:
        folder = installed(self.source.with_name("package.json"))
        for source in (self.source, self.source.with_name("run.js")):
            shutil.copy(source, folder)
        return [str(NODE), str(folder / self.source.name), bootstrap, *wanted]


CASES = NodeCases(Path(__file__).parent / "program" / "cases.js")


@pytest.mark.parametrize("case", CASES.names)
def test_case(request: pytest.FixtureRequest, bootstrap: str, case: str) -> None:
    CASES.check(case, bootstrap, wanted_cases(request))
