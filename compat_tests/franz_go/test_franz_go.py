"""franz-go, a client written in Go from the protocol up: codecs, acks, headers, groups, offsets, admin.

The cases are in ``program/cases.go``. Skipped where Go is not installed. Left out: transactions, access lists;
delegation tokens have a test in compat_tests/security.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.go_cases import GO, GoCases
from compat_tests.harness.program_cases import wanted_cases

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")
PROGRAM = Path(__file__).parent / "program"
_CASES = GoCases(PROGRAM / "cases.go")


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request: pytest.FixtureRequest, bootstrap: str, case: str) -> None:
    _CASES.check(case, bootstrap, wanted_cases(request))
