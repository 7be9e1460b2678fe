"""Small worlds of coordinators, and each of their rules switched off: on copies in these worlds, in one process in stories.

``WORLDS`` says how many small worlds there are of each kind.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import pytest

from pykbroker.coordination import runtime
from pykbroker.coordination.groups.consumer import reconciling
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.pending import PendingOffsets
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import Outcome
from pykbroker.coordination.shards import Loaded, Shards
from pykbroker.coordination.transactions import ending, initializing
from pykbroker.coordination.transactions.completing import Completion
from pykbroker.coordination.transactions.shard import TransactionShard
from pykbroker.coordination.transactions.transaction import Transaction
from pykbroker.handlers import produce
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.state import LogState
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.simulation.coordination import KINDS, coordinated_world
from pykbroker.tests.simulation.rules import assert_needed
from pykbroker.tests.simulation.story import Story
from pykbroker.tests.simulation.transacting import transacted_world
from pykbroker.wire.errors import ErrorCode, KafkaError

WORLDS = int(os.environ.get("WORLDS", of_depths(10, 40, 10_000)))
#: Stories of which one must.
_MOST_STORIES = 25


pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize("kind", KINDS)
def test_small_worlds(kind: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(WORLDS):
        world = coordinated_world(kind, seed)
        counts.update(event[0] for event in world.path)
        counts["told"] += len(world.numbers)
    if WORLDS >= 40:
        expected = {"told": 300, "ask": 500, "kill": 40, "power": 30, "elect": 40, "isolate": 60, "lose": 40}
        assert not {what: counts[what] for what, least in expected.items() if counts[what] < least * WORLDS // 100}


def test_small_worlds_of_transactions() -> None:
    counts: Counter[str] = Counter()
    for seed in range(WORLDS):
        world = transacted_world(seed)
        counts.update(event[0] for event in world.path)
        counts.update(f"transaction {outcome}" for outcome in world.outcomes.values())
    if WORLDS >= 40:
        expected = {"transaction True": 100, "transaction False": 80, "late": 400, "restart": 40, "give_up": 20}
        expected |= {"kill": 25, "elect": 30, "elect_coordinator": 25}
        assert not {what: counts[what] for what, least in expected.items() if counts[what] < least * WORLDS // 100}


# ---- each rule switched off ---------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Where it is, what takes its place, and a world that shows it."""

    owner: Any
    name: str
    without: Any
    kind: str
    seed: int


def _loaded_is_committed(self: Loaded[Any], partition: Any, shard: Any) -> None:
    _LOADED(self, partition, shard)
    self._floor = self.newest = 0


def _anybody_answers(self: Shards[Any], index: int) -> Loaded[Any]:
    loaded = self.loaded.get(index)
    found = self._host.partition(self._topic, index) if loaded is None else loaded.partition
    if found is None:
        raise KafkaError(ErrorCode.NOT_COORDINATOR)
    return self._load(found) if loaded is None else loaded


def _to_the_high_watermark(self: LogReplay[Any], log: Any, count: int) -> Any:
    end = log.log_end_offset
    log.log_end_offset = log.high_watermark
    try:
        return _ADVANCE(self, log, count)
    finally:
        log.log_end_offset = end


def _refusals_are_lost(*args: Any) -> None:
    _APPEND(*args)


def _the_same_epoch(transaction: Transaction, _: Any) -> tuple[int, int]:
    return max(transaction.producer_epoch, 0), -1


_LOADED, _ADVANCE, _APPEND = Loaded.__init__, LogReplay._advance, runtime.append

RULES: dict[str, Rule] = {
    "an answer leaves when its state is committed": Rule(Loaded, "committed", lambda *_: None, "groups", 0),
    "what was loaded may not be committed yet": Rule(Loaded, "__init__", _loaded_is_committed, "groups", 122),
    "a shard goes with the leadership": Rule(Shards, "follow", lambda *_: None, "transactions", 124),
    "who leads coordinates": Rule(Shards, "at", _anybody_answers, "groups", 2),
    "a shard has all of the log": Rule(LogReplay, "_advance", _to_the_high_watermark, "groups", 9),
    "who asks is told of a refusal": Rule(runtime, "append", _refusals_are_lost, "transactions", 4),
    "each producer has an epoch of its own": Rule(initializing, "_next_epoch", _the_same_epoch, "transactions", 0),
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES[name]
    world = partial(coordinated_world, rule.kind)
    assert_needed(monkeypatch, rule.owner, rule.name, rule.without, world, rule.seed)


def _high_watermark(log: LogState) -> int:
    return log.high_watermark


#: Rules of groups and transactions in one process, each with what takes its place, and a story that notices.
RULES_OF_STORIES: dict[str, tuple[Any, str, Any, int]] = {
    "readers are told what was aborted": (Log, "aborted_transactions", lambda *_, **__: [], 1),
    "readers stop at the first open transaction": (LogState, "last_stable_offset", property(_high_watermark), 1),
    "a decision has its markers": (Completion, "_write", lambda *_: None, 1),
    "offsets of a transaction count when it is committed": (PendingOffsets, "end", lambda *_: {}, 1),
    "an end is of its own transaction (KIP-890)": (ending, "_check_bumped_identity", lambda *_: False, 5),
    "a partition is given back before another takes it": (ConsumerGroup, "is_free", lambda *_: True, 5),
    "who does not report what it owns owns it": (reconciling, "_still_owns", lambda *_: False, 25),
}


@pytest.mark.deep
@pytest.mark.parametrize("name", RULES_OF_STORIES)
def test_a_rule_that_is_off_is_noticed_by_stories(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, without, seed = RULES_OF_STORIES[name]
    monkeypatch.setattr(owner, attribute, without)
    with pytest.raises(AssertionError):
        _tell((seed, *range(1, _MOST_STORIES)))


def _tell(seeds: Iterable[int]) -> None:
    for seed in seeds:
        Story(seed).tell()


def _completes_at_once(self: Completion, where: Any) -> None:
    _WRITE(self, where)


_WRITE = Completion._write

#: The same of transactions over copies, each with a world that notices.
RULES_OF_TRANSACTIONS: dict[str, tuple[Any, str, Any, int]] = {
    "readers are told what was aborted": (Log, "aborted_transactions", lambda *_, **__: [], 0),
    "readers stop at the first open transaction": (LogState, "last_stable_offset", property(_high_watermark), 0),
    "a decision has its markers": (Completion, "_write", lambda *_: None, 0),
    "a transaction is complete when its markers are committed": (Completion, "_write", _completes_at_once, 101),
    "who takes over completes what was decided": (TransactionShard, "begin", lambda *_: Outcome(), 5),
    "an end is of the producer's epoch": (ending, "_check_identity", lambda *_: True, 1),
    "a record is of an open transaction (KIP-890)": (produce, "admit", lambda *_: Deferred.completed({}), 207),
}


@pytest.mark.parametrize("name", RULES_OF_TRANSACTIONS)
def test_a_rule_of_transactions_that_is_off_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, without, seed = RULES_OF_TRANSACTIONS[name]
    assert_needed(monkeypatch, owner, attribute, without, transacted_world, seed)
