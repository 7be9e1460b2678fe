"""The Java client 2.1.1 (2019), the oldest that Kafka 4 still serves: its protocol versions are near the lowest ones.

The cases are in OldClientCases.java. Left out: what that client cannot do (static members, incremental configuration, headers of
its admin calls) and transactions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.java_cases import JavaCases, wanted_cases

_CASES = JavaCases(Path(__file__).parent / "OldClientCases.java", "old-client")


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request, bootstrap, case):
    _CASES.check(case, bootstrap, wanted_cases(request))
