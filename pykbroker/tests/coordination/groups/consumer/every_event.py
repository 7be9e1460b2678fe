"""How tables of events and states are written down and checked, for groups of the consumer protocol and their members.

A cell is an answer, with the next state where it changes. Everything is seen from outside, through requests and
ConsumerGroupDescribe alone: so Apache Kafka can be held against the same tables (compat_tests/oracle).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any

from pykbroker.tests.coordination.groups.consumer.harness import REBALANCE_MS, ConsumerHarness, Partitions
from pykbroker.wire.errors import ErrorCode, KafkaError

#: The answer was good, and the group epoch has risen.
RAISES = "raises"

OK = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
FENCED = ErrorCode.FENCED_MEMBER_EPOCH
STALE = ErrorCode.STALE_MEMBER_EPOCH
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
INVALID = ErrorCode.INVALID_REQUEST
NO_GROUP = ErrorCode.GROUP_ID_NOT_FOUND
NON_EMPTY = ErrorCode.NON_EMPTY_GROUP
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS
ID_REQUIRED = ErrorCode.MEMBER_ID_REQUIRED
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
FENCED_INSTANCE = ErrorCode.FENCED_INSTANCE_ID
TAKEN_INSTANCE = ErrorCode.UNRELEASED_INSTANCE_ID

Table = dict[str, tuple[Any, ...]]


class Scene:
    """A group brought to a state. Subclasses have a method for every event, which returns an ErrorCode or None, and
    ``state``, which is one of the table's states.
    """

    h: ConsumerHarness

    @property
    def state(self) -> Enum:
        raise NotImplementedError

    def answer(self, event: str) -> object:
        """What comes of an event: its code, or RAISES."""
        before = self.h.epoch()
        try:
            code = getattr(self, event)()
        except KafkaError as error:
            code = error.code
        return RAISES if code is OK and self.h.epoch() > before else code

    def enter(self, member_id: str, *topics: str, instance_id: str | None = None) -> int:
        """A first heartbeat; the member's epoch."""
        return self.h.enter(member_id, *topics or ("t",), instance_id=instance_id).member_epoch

    def beats(self, member_id: str, epoch: int, **stated: Any) -> ErrorCode:
        """One heartbeat."""
        return ErrorCode(self.h.beat(member_id, epoch, **stated).error_code)

    def says_all(self, member_id: str, epoch: int, owned: Partitions, *topics: str, **stated: Any) -> ErrorCode:
        """One heartbeat that says all that there is to say."""
        topics = topics or ("t",)
        return self.beats(
            member_id, epoch, topics=list(topics), owned=owned, rebalance_timeout_ms=REBALANCE_MS, **stated
        )


def events_of(scene: type[Scene]) -> list[str]:
    """The names of its events."""
    return [name for name, each in vars(scene).items() if callable(each) and not name.startswith("_")]


def check_whole(scene: type[Scene], table: Table, states: Collection[Enum]) -> None:
    """Raises AssertionError where the table lacks a state or an event."""
    assert list(table) == events_of(scene)
    assert {len(row) for row in table.values()} == {len(states)}


def check_row(make: Callable[[Any], Scene], event: str, table: Table, states: Collection[Enum]) -> None:
    """Raises AssertionError where something else comes of an event than the table says, in any state."""
    for state, expected in zip(states, table[event], strict=True):
        code, following = expected if isinstance(expected, tuple) else (expected, state)
        scene = make(state)
        assert scene.state is state, f"it is {scene.state}, not {state}"
        seen = (scene.answer(event), scene.state)
        assert seen == (code, following), f"{event} in {state.name}: {seen}, not {(code, following)}"
