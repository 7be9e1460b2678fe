"""Every event in every state, while the log cannot be written: who wanted something written is told why it was not, and
nothing has changed. What needs no record goes on as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any

import pytest

from pykbroker.coordination.groups.consumer.group import ConsumerGroup, ConsumerGroupState
from pykbroker.tests.coordination.groups.consumer import test_every_classic_member_event as of_classic_members
from pykbroker.tests.coordination.groups.consumer import test_every_event as of_groups
from pykbroker.tests.coordination.groups.consumer import test_every_member_event as of_members
from pykbroker.tests.coordination.groups.consumer.every_event import Scene
from pykbroker.tests.coordination.groups.consumer.harness import SESSION_MS, Client, ConsumerHarness, persisted, settle
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode

REFUSAL = ErrorCode.COORDINATOR_NOT_AVAILABLE
_SUBJECTS: list[tuple[Callable[[Any], Scene], Collection[Enum], Any]] = [
    (of_groups.Group, ConsumerGroupState, of_groups),
    (of_members.Member, of_members.STATES, of_members),
    (of_classic_members.ClassicMember, of_classic_members.STATES, of_classic_members),
]
_ROWS = [
    pytest.param(make, states, event, id=f"{make.__name__}-{event}")
    for make, states, module in _SUBJECTS
    for event in module.TABLE
    if event not in module.WITH_THE_CLOCK
]


def everything(h: ConsumerHarness) -> tuple[object, ...]:
    """All that the log holds, as the shard has it."""
    groups = {
        group_id: persisted(group) if isinstance(group, ConsumerGroup) else group.type_name
        for group_id, group in h.shard.groups.items()
    }
    return groups, h.committed(), len(h.log)


@pytest.mark.parametrize(("make", "states", "event"), _ROWS)
def test_nothing_changes(make, states, event):
    for state in states:
        usual = make(state)
        written = len(usual.h.log)
        answer = usual.answer(event)
        scene = make(state)
        before = everything(scene.h)
        scene.h.refusing = REFUSAL
        expected = answer if len(usual.h.log) == written else REFUSAL
        assert (state, scene.answer(event)) == (state, expected)
        assert everything(scene.h) == before


def test_members_that_could_not_be_fenced_are_fenced_a_little_later():
    h = ConsumerHarness()
    h.topic("t", 2)
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    settle(one, two)
    h.advance(SESSION_MS // 2)
    one.beat()
    h.refusing = REFUSAL
    h.advance(SESSION_MS // 2)
    assert list(h.consumers.members) == ["one", "two"]
    h.refusing = None
    h.advance(500)
    assert list(h.consumers.members) == ["one"]


def test_a_pattern_that_could_not_be_resolved_is_resolved_with_the_next_heartbeat():
    """The member is in the log; what its pattern stands for is a record of its own, after the answer's."""
    h = ConsumerHarness()
    h.topic("t", 1)
    run, steps = h.shard.replay, []

    def refuse_the_rest(record):
        run(record)
        steps.append(record)
        h.refusing = REFUSAL

    h.shard.replay = refuse_the_rest
    h.beat("one", 0, owned=set(), subscribed_topic_regex="t.*", rebalance_timeout_ms=1000)
    assert steps
    assert h.shard.groups[GROUP].regexes == {}
    h.shard.replay, h.refusing = run, None
    h.beat("one", 1)
    assert h.consumers.regexes["t.*"].topics == {"t"}
