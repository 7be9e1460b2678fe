"""Whole lives of groups and transactions, both brokers restarted at every step; answers compared field by field.

All lives go on side by side, so that a restart serves them all. Epochs of leaders are not compared: a restart of Apache
Kafka is two elections, while here a broker that comes back has never lost its lead.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.lifecycles import LIFECYCLES, Life
from compat_tests.oracle.requests import Ask

Answers = dict[str, list[list[Any]]]
"""What was answered, by life, in each step."""


_ELECTIONS = {"leader_epoch", "coordinator_epoch"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Answers, Answers]]:
    brokers = (
        ApacheKafka(tmp_path_factory.mktemp("kafka-restarts")),
        Pykbroker(tmp_path_factory.mktemp("pykbroker-restarts"), {"offsets.topic.num.partitions": "5"}),
    )
    with ExitStack() as running, ThreadPoolExecutor() as pool:
        for broker in brokers:
            running.callback(broker.stop)
        kafkas, ours = pool.map(_live, brokers)
        yield kafkas, ours


def _live(broker: BrokerProcess) -> Answers:
    broker.start()
    with ExitStack() as open_:
        asking = {
            life.__name__: open_.enter_context(closing(Ask(broker.bootstrap, 9, life.__name__))) for life in LIFECYCLES
        }
        for ask in asking.values():
            ask.wait_for_coordinators()
        going = {life.__name__: life(asking[life.__name__]) for life in LIFECYCLES}
        answers: Answers = {name: [] for name in going}
        while True:
            for name in list(going):
                if next(going[name], going) is going:
                    del going[name]
                answers[name].append(_without_epochs(asking[name].answers[:]))
                asking[name].answers.clear()
            if not going:
                return answers
            broker.restart()
            for name in going:
                asking[name].reconnect()


def _without_epochs(answer: Any) -> Any:
    """The answer, without what counts elections. -1 (no epoch) stays."""
    if isinstance(answer, dict):
        return {
            name: "<epoch>" if name in _ELECTIONS and value >= 0 else _without_epochs(value)
            for name, value in answer.items()
        }
    return [_without_epochs(each) for each in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("life", LIFECYCLES, ids=[life.__name__ for life in LIFECYCLES])
def test_a_life_with_a_restart_at_every_step(answers: tuple[Answers, Answers], life: Life) -> None:
    kafkas, ours = (side[life.__name__] for side in answers)
    assert len(kafkas) > 1
    assert all(kafkas)
    found = [
        f"after {step} restarts, {each}"
        for step, (expected, seen) in enumerate(zip(kafkas, ours, strict=True))
        for each in divergences(expected, seen)
    ]
    if found:
        pytest.fail("\n".join([f"{len(found)} differences:", *found[:40]]), pytrace=False)
