"""Small worlds of members over copies, and each rule of theirs switched off.

``WORLDS`` says how many small worlds there are of each protocol.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import Any, NamedTuple

import pytest

from pykbroker.coordination.groups.classic import kind as classic_kind
from pykbroker.coordination.groups.classic import syncing
from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.classic.membership import Membership
from pykbroker.coordination.groups.consumer import checking, member_epochs, reconciling
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import Outcome
from pykbroker.coordination.shards import Loaded, Shards
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.simulation.members import Grouped, grouped_world
from pykbroker.tests.simulation.rules import assert_needed
from pykbroker.wire.errors import ErrorCode

WORLDS = int(os.environ.get("WORLDS", of_depths(5, 40, 10_000)))
#: What must have happened in a hundred worlds of each protocol, or they are too tame.
EXPECTED = {"uses": 500, "taken": 400, "again": 700, "crash": 30, "leave": 20, "kill": 30, "power": 30, "elect": 30}


pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize("protocol", Grouped.protocols)
def test_small_worlds(protocol: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(WORLDS):
        world = grouped_world(protocol, seed)
        counts.update(event[0] for event in world.path)
        counts.update({"taken": world.taken, "uses": world.uses})
    if WORLDS >= 40:
        assert not {what: counts[what] for what, least in EXPECTED.items() if counts[what] < least * WORLDS // 100}


# ---- each rule switched off ---------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Where it is, what takes its place, and a world that shows it."""

    owner: Any
    name: str
    without: Any
    protocol: str
    seed: int


def _anything(*_: Any, **__: Any) -> None:
    return None


def _to_the_high_watermark(self: LogReplay[Any], log: Any, count: int) -> Any:
    end = log.log_end_offset
    log.log_end_offset = log.high_watermark
    try:
        return _ADVANCE(self, log, count)
    finally:
        log.log_end_offset = end


def _any_generation(group: ClassicGroup, request: Any) -> ErrorCode:
    request.generation_id = group.generation
    return _REFUSAL(group, request)


_ADVANCE, _REFUSAL = LogReplay._advance, syncing._refusal

RULES: dict[str, Rule] = {
    "a commit is of a member of the generation": Rule(classic_kind, "check_commit", _anything, "classic", 28),
    "an assignment is of the generation": Rule(syncing, "_refusal", _any_generation, "classic", 152),
    "a generation waits for its members": Rule(Membership, "all_joined", True, "classic", 0),
    "sessions of the classic protocol begin anew": Rule(ClassicGroup, "loaded", lambda _: Outcome(), "classic", 17),
    "a commit is of a member": Rule(member_epochs, "check_commit", _anything, "consumer", 0),
    "a commit is of the epoch (KIP-848)": Rule(member_epochs, "_check_epoch", _anything, "consumer", 3),
    "an epoch whose answer was lost is good once more": Rule(checking, "_owns_all", lambda *_: False, "consumer", 4),
    "sessions begin anew": Rule(ConsumerGroup, "loaded", lambda _: Outcome(), "consumer", 11),
    "a partition is given back first": Rule(ConsumerGroup, "is_free", lambda *_: True, "consumer", 1),
    "who does not report what it owns owns it": Rule(reconciling, "_still_owns", lambda *_: False, "consumer", 0),
    "an answer leaves when its state is committed": Rule(Loaded, "committed", _anything, "consumer", 4),
    "a shard goes with the leadership": Rule(Shards, "follow", _anything, "consumer", 0),
    "a shard has all of the log": Rule(LogReplay, "_advance", _to_the_high_watermark, "consumer", 23),
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES[name]
    world = partial(grouped_world, rule.protocol)
    assert_needed(monkeypatch, rule.owner, rule.name, rule.without, world, rule.seed)
