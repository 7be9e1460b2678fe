"""The oracle's cases to Apache Kafka 2.8.2, 3.9.1 and 4.3.1, and to pykbroker taken for them; the answers must agree.

Which cases: ``cases.py``. The differences there are, with their reasons: ``differences.py``.
"""

from __future__ import annotations

from functools import partial

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.differences import DIFFERENCES as OF_TODAY
from compat_tests.oracle.judgement import judged
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

    def ask_of(broker: BrokerProcess | AsVersion, version: int, prefix: str) -> Ask:
        return Ask(broker.bootstrap, version, prefix, versions, _PATIENCE_S)

    known = [*DIFFERENCES[release_name], *OF_TODAY]
    unexplained: list[str] = []
    seen: set[int] = set()
    requested = 0
    for case, version in cases(release_name):
        try:
            found, explained = judged(
                case, version, partial(ask_of, theirs, version), partial(ask_of, ours, version), known
            )
        except NotInRelease:
            continue
        except AssertionError as error:
            unexplained.append(f"{case.name} v{version} cannot be asked: {error}")
            continue
        requested += 1
        seen |= explained
        unexplained += [f"{case.name} v{version}: {each}" for each in found]
    if unexplained:
        pytest.fail("\n".join([f"{len(unexplained)} unexplained differences:", *unexplained[:400]]), pytrace=False)
    assert requested > 100
    gone = [each for n, each in enumerate(DIFFERENCES[release_name]) if n not in seen]
    assert gone == [], "a difference that is gone must leave the list"
