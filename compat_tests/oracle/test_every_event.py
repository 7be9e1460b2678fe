"""The tables of events and states of pykbroker's own tests of consumer groups, asked of Apache Kafka and of pykbroker.

What needs a clock that can be moved on, or a restart at the right moment, is left to those tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import Enum
from typing import Any, NamedTuple

import pytest

from compat_tests.conftest import make_target
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.remote_groups import RemoteGroup
from compat_tests.oracle.requests import Ask
from pykbroker.coordination.groups.consumer.group import ConsumerGroupState
from pykbroker.tests.coordination.groups.consumer import test_every_classic_member_event as of_classic_members
from pykbroker.tests.coordination.groups.consumer import test_every_event as of_groups
from pykbroker.tests.coordination.groups.consumer import test_every_member_event as of_members
from pykbroker.tests.coordination.groups.consumer.every_event import Scene, Table, check_row


class Subject(NamedTuple):
    """A table with what belongs to it."""

    name: str
    scene: Callable[[Any, Any], Scene]
    table: Table
    states: Collection[Enum]
    left_out: tuple[str, ...]


SUBJECTS = [
    Subject("group", of_groups.Group, of_groups.TABLE, ConsumerGroupState, of_groups.WITH_THE_CLOCK),
    Subject("member", of_members.Member, of_members.TABLE, of_members.STATES, of_members.WITH_THE_CLOCK),
    Subject(
        "classic-member",
        of_classic_members.ClassicMember,
        of_classic_members.TABLE,
        of_classic_members.STATES,
        of_classic_members.WITH_THE_CLOCK,
    ),
]
_ROWS = [(subject, event) for subject in SUBJECTS for event in subject.table if event not in subject.left_out]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that computes a new target as soon as one is wanted."""
    broker = make_target(tmp_path_factory.mktemp("events"), {"group.consumer.assignment.interval.ms": "0"})
    broker.start()
    waiting = Ask(broker.bootstrap, 0, "waiting")
    waiting.wait_for_coordinators()
    waiting.close()
    yield broker
    broker.stop()


@pytest.mark.parametrize(("subject", "event"), _ROWS, ids=[f"{subject.name}-{event}" for subject, event in _ROWS])
def test_every_event_in_every_state(target: BrokerProcess, subject: Subject, event: str) -> None:
    ask = Ask(target.bootstrap, 1, "events")
    try:
        check_row(
            lambda state: subject.scene(state, RemoteGroup(ask, f"{subject.name}-{event}-{state.name}")),
            event,
            subject.table,
            subject.states,
        )
    finally:
        ask.close()
