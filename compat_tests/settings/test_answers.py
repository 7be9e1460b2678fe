"""The same requests about settings to Apache Kafka and to us; the decoded answers must be equal.

Covered: DescribeConfigs, IncrementalAlterConfigs, AlterConfigs, ListConfigResources, the settings in CreateTopics.
Kafka's broker follows its controller after the answer, so its answers are asked for again for a while where they differ.
Not asked: log.retention.hours of a broker whose log.retention.ms is altered, which Kafka then shows with the default in
place of the file's value; a resource named twice in AlterConfigs, which Kafka never answers; operations it does
not know, to which it answers UNKNOWN_SERVER_ERROR (-1) for all but brokers, and we INVALID_REQUEST for all; more threads
than twice those there are, which Kafka refuses and we, having no such pools, take.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.settings.differences import DIFFERENCES
from compat_tests.settings.raw import BROKER, Raw
from compat_tests.settings.steps import SCENES, Step
from pykbroker.config.differences import OUR_DEFAULTS

_PROPAGATION_S = 60.0
_DEFAULT_CONFIG = 5


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """The oracle and us, with nobody's settings but those of these scenes: they ask for all that there are."""
    started: list[BrokerProcess] = []
    try:
        for kind in (ApacheKafka, Pykbroker):
            started.append(kind(tmp_path_factory.mktemp("settings")))
            started[-1].start()
        yield started[0], started[1]
    finally:
        for broker in started:
            broker.stop()


@pytest.fixture
def brokers(fresh: tuple[BrokerProcess, BrokerProcess]) -> Iterator[tuple[Raw, Raw]]:
    """Connections to the oracle and to us."""
    with closing(Raw(fresh[0].port)) as theirs, closing(Raw(fresh[1].port)) as ours:
        yield theirs, ours


def _answer(broker: Raw, step: Step) -> object:
    return getattr(broker, step.method)(*step.arguments, **step.options)


def _kafkas_answer(broker: Raw, step: Step, ours: object) -> object:
    """Kafka's answer; one that differs from ours is asked for until its broker has followed the controller."""
    answer = _answer(broker, step)
    follows = step.method in ("describe", "resources") and str(step) not in DIFFERENCES
    deadline = time.monotonic() + (_PROPAGATION_S if follows else 0)
    while answer != ours and time.monotonic() < deadline:
        time.sleep(0.02)
        answer = _answer(broker, step)
    return answer


@pytest.mark.parametrize("scene", SCENES)
def test_answers_are_equal(brokers, scene):
    theirs, ours = brokers
    different, expected = {}, set()
    for step in SCENES[scene]:
        our_answer = _answer(ours, step)
        their_answer = _kafkas_answer(theirs, step, our_answer)
        if str(step) in DIFFERENCES:
            expected.add(str(step))
        if our_answer != their_answer:
            different[str(step)] = {"kafka": their_answer, "pykbroker": our_answer}
    unexplained = [f"{step}:\n  {answers}" for step, answers in different.items() if step not in expected]
    assert not unexplained, "\n".join(unexplained)
    assert expected <= different.keys(), "listed as a difference, but equal"


def test_every_broker_setting_is_described_alike(brokers):
    """Type, scope, secrecy and default of each; values differ with the files."""
    theirs, ours = (broker.describe(BROKER, "1") for broker in brokers)
    assert theirs[:2] == ours[:2] == (0, "")
    assert theirs[2].keys() == ours[2].keys()
    for name, (_, read_only, _, sensitive, kind, synonyms) in theirs[2].items():
        _, our_read_only, _, our_sensitive, our_kind, our_synonyms = ours[2][name]
        assert (name, our_read_only, our_sensitive, our_kind) == (name, read_only, sensitive, kind)
        if name not in OUR_DEFAULTS:
            defaults = [synonym for synonym in synonyms if synonym[2] == _DEFAULT_CONFIG]
            assert [synonym for synonym in our_synonyms if synonym[2] == _DEFAULT_CONFIG] == defaults
