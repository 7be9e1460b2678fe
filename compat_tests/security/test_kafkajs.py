"""kafkajs over TLS, with a certificate of its own, by password (PLAIN and SCRAM) and by token."""

from __future__ import annotations

import pytest

from compat_tests.harness.program_cases import wanted_cases
from compat_tests.kafkajs.test_kafkajs import CASES as OTHERS
from compat_tests.kafkajs.test_kafkajs import NODE, NPM, NodeCases
from compat_tests.security.listeners import Listeners

pytestmark = pytest.mark.skipif(
    not (NODE and NPM), reason="Node is not installed (on Debian: apt-get install nodejs npm)"
)
_CASES = NodeCases(OTHERS.source.with_name("secured.js"))


@pytest.mark.parametrize("case", _CASES.names)
def test_case(request: pytest.FixtureRequest, secured: Listeners, reported: None, case: str) -> None:
    _CASES.check(case, secured.address("PLAINTEXT"), wanted_cases(request))
