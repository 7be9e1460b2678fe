"""The oracle's cases to Apache Kafka 2.8.2, 3.9.1 and 4.3.1, and to pykbroker taken for them; the answers must agree.

Which cases: ``cases.py``. The differences there are, with their reasons: ``differences.py``.
"""

from __future__ import annotations

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases import Case
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.differences import DIFFERENCES as OF_TODAY
from compat_tests.oracle.requests import Ask, NotInRelease
from compat_tests.releases.brokers import AsVersion, highest
from compat_tests.releases.cases import cases
from compat_tests.releases.differences import DIFFERENCES

#: For so long a change is awaited that an old broker has answered. None of these cases waits for what it never does.
_PATIENCE_S = 60.0


def test_same_answers(release_name: str, theirs: BrokerProcess, ours: AsVersion) -> None:
    """All cases in one test: a broker is started for them, and what differs is shown together."""
    versions = highest(release_name)
    for broker in (theirs, ours):
        ask = Ask(broker.bootstrap, 0, "waiting", versions)
        ask.wait_for_coordinators()
        ask.close()
    known = [*DIFFERENCES[release_name], *OF_TODAY]
    unexplained: list[str] = []
    seen: set[int] = set()
    asked = 0
    for case, version in cases(release_name):
        prefix = f"{case.name.replace('/', '.')}-v{version}"
        try:
            expected, got = (
                _answers(Ask(each.bootstrap, version, prefix, versions, _PATIENCE_S), case) for each in (theirs, ours)
            )
        except NotInRelease:
            continue
        except AssertionError as error:
            unexplained.append(f"{case.name} v{version} cannot be asked: {error}")
            continue
        asked += 1
        for found in divergences(expected, got):
            reasons = [n for n, each in enumerate(known) if each.explains(case.name, found)]
            seen.update(reasons)
            if not reasons:
                unexplained.append(f"{case.name} v{version}: {found}")
    if unexplained:
        pytest.fail("\n".join([f"{len(unexplained)} unexplained differences:", *unexplained[:400]]), pytrace=False)
    assert asked > 100
    gone = [each for n, each in enumerate(DIFFERENCES[release_name]) if n not in seen]
    assert gone == [], "a difference that is gone must leave the list"


def _answers(ask: Ask, case: Case) -> list[object]:
    try:
        case.ask(ask)
    finally:
        ask.close()
    return ask.answers
