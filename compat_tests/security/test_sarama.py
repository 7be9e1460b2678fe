"""sarama over TLS, with a certificate of its own, by password and by token."""

from __future__ import annotations

import pytest

from compat_tests.harness.go_cases import GO, GoCases
from compat_tests.harness.program_cases import wanted_cases
from compat_tests.sarama.test_sarama import CASES as OTHERS
from compat_tests.security.listeners import Listeners

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")
_CASES = GoCases(OTHERS.source.with_name("secured.go"))


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request: pytest.FixtureRequest, secured: Listeners, reported: None, case: str) -> None:
    _CASES.check(case, secured.address("PLAINTEXT"), wanted_cases(request))
