"""franz-go makes a delegation token and signs in by it; of the stock clients it is the one that can beside Kafka's own."""

from __future__ import annotations

import pytest

from compat_tests.franz_go.test_franz_go import PROGRAM
from compat_tests.harness.go_cases import GO, GoCases
from compat_tests.harness.program_cases import wanted_cases
from compat_tests.security.listeners import Listeners

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")
_CASES = GoCases(PROGRAM / "tokens.go")


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request: pytest.FixtureRequest, secured: Listeners, case: str) -> None:
    _CASES.check(case, secured.address("SASL_PLAINTEXT"), wanted_cases(request))
