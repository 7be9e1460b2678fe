"""The Java client 4.4.0 with ``group.protocol=consumer``. The cases are in ConsumerProtocolCases.java."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.java_cases import JavaCases, wanted_cases

_FOLDER = Path(__file__).parent
_CASES = JavaCases(_FOLDER / "ConsumerProtocolCases.java", "kafka", helpers=(_FOLDER.parent / "java" / "Clients.java",))


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request, quick, case):
    _CASES.check(case, quick, wanted_cases(request))
