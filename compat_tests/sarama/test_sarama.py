"""sarama, the older client written in Go: codecs, acks, idempotence, headers, groups, offsets, admin, and its oldest protocol versions.

The cases are in ``program/cases.go``. Skipped where Go is not installed. Left out: transactions, access lists.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.go_cases import GO, GoCases
from compat_tests.harness.program_cases import wanted_cases

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")
CASES = GoCases(Path(__file__).parent / "program" / "cases.go")


@pytest.mark.parametrize("case", CASES.names)
def test_case(request: pytest.FixtureRequest, bootstrap: str, case: str) -> None:
    CASES.check(case, bootstrap, wanted_cases(request))
