"""The same raw requests to Apache Kafka 4.4.0 and to pykbroker; the decoded answers must agree field by field.

Every API of the first release at every version, asked well and badly. The cases are in ``cases/``; what run-dependent values
become is in ``normalise.py``; the differences there are, with their reasons, are in ``differences.py``.
"""

from __future__ import annotations

from functools import partial

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.cases import Case, all_cases
from compat_tests.oracle.differences import DIFFERENCES
from compat_tests.oracle.judgement import judged
from compat_tests.oracle.requests import Ask

_RUNS = [(case, version) for case in all_cases() for version in case.versions]
_explained: set[int] = set()


@pytest.fixture(scope="module")
def brokers(kafka: ApacheKafka, pykbroker: Pykbroker) -> tuple[str, str]:
    """The addresses of both brokers, once their group coordinators answer."""
    for broker in (kafka, pykbroker):
        ask = Ask(broker.bootstrap, 0, "waiting")
        ask.wait_for_coordinators()
        ask.close()
    return kafka.bootstrap, pykbroker.bootstrap


@pytest.mark.parametrize(("case", "version"), _RUNS, ids=[f"{case.name}-v{version}" for case, version in _RUNS])
def test_same_answers(brokers: tuple[str, str], case: Case, version: int) -> None:
    theirs, ours = (partial(Ask, address, version) for address in brokers)
    unexplained, explained = judged(case, version, theirs, ours, DIFFERENCES)
    _explained.update(explained)
    if unexplained:
        pytest.fail("\n".join([f"{len(unexplained)} unexplained differences:", *unexplained[:40]]), pytrace=False)


def test_every_listed_difference_is_real(request: pytest.FixtureRequest) -> None:
    """A difference that is gone must leave the list. Only a run of all cases can tell."""
    ran = {item.name for item in request.session.items if getattr(item, "originalname", "") == "test_same_answers"}
    if len(ran) < len(_RUNS):
        pytest.skip("not all cases were selected")
    gone = [difference for n, difference in enumerate(DIFFERENCES) if n not in _explained]
    assert gone == []
