"""The machines together: every order of events within small bounds, random orders within larger ones, and each rule switched off."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from pykbroker.replication.following import FetchPlace, FollowerDecision, FollowerStep, Following
from pykbroker.replication.isr import CommittedIsr, Isr, IsrMember, ProposedIsr
from pykbroker.replication.leading import Leading
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.replication import together
from pykbroker.tests.replication.explorer import Explorer, State
from pykbroker.tests.replication.model import FAULTS, Bounds, Event, ModelCluster, Violation, with_faults
from pykbroker.tests.replication.together import MOST, Together

_STATES = of_depths(1_000, 5_000, 200_000)
_WALKS = of_depths(15, 150, 20_000)
_STEPS = 120


def all_states(explorer: Explorer, bounds: Bounds, key: Callable[[ModelCluster], object]) -> tuple[int, set[State]]:
    """How many states there are that differ in ``key``, by the machines alone, and for what they stand."""
    first = ModelCluster(bounds)
    seen = {key(first)}
    waiting = [first]
    stand_for = set()
    while waiting:
        cluster = waiting.pop()
        stand_for.add(explorer.state_of(cluster.fork()))
        for event in list(cluster.events()):
            following = cluster.fork()
            following.apply(event)
            name = key(following)
            if name not in seen:
                seen.add(name)
                waiting.append(following)
    return len(seen), stand_for


def walk(bounds: Bounds, seed: int, steps: int = _STEPS) -> list[Event]:
    """One random order of events. Raises Violation."""
    rng = random.Random(seed)
    cluster = ModelCluster(bounds)
    path: list[Event] = []
    for _ in range(steps):
        possible = list(cluster.events())
        if not possible:
            break
        kinds = sorted({event[0] for event in possible})
        kind = rng.choice(kinds)
        event = rng.choice([each for each in possible if each[0] == kind])
        path.append(event)
        try:
            cluster.apply(event)
        except Violation as violation:
            raise Violation(f"{violation}, after {path}") from None
    return path


def test_explorer() -> None:
    """Three replicas, three appends, two elections, one crash with the loss of the disk, late and duplicated answers."""
    assert len(list(islice(Explorer(Bounds()).explore(), _STATES))) == _STATES


def test_every_order(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """All that may happen to three replicas within bounds, to the end. Each fault may be of any kind, and come at any time: ``RECORDS`` and
    ``FAULTS`` say how many, and ``WORKERS`` in how many processes (``together``, which can also be stopped).
    """
    bounds = [(4, 0), (0, 1), *of_depths([], [(2, 1)], [(4, 1), (0, 2)])]
    if "RECORDS" in os.environ:
        bounds = [(int(os.environ["RECORDS"]), int(os.environ.get("FAULTS", "0")))]
    for records, faults in bounds:
        begun = monotonic()
        explorer = Explorer(with_faults(records, faults), most=MOST if "RECORDS" in os.environ else 1_000_000)
        workers = Together(explorer, int(os.environ.get("WORKERS", "1")), tmp_path)
        assert workers.explore()
        with capsys.disabled():
            sys.stdout.write(f"\n{records} records, {faults} faults: {workers}, {monotonic() - begun:.1f} s")
        assert workers.states == _ALL.get((records, faults), workers.states)


def test_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, which are stopped twice, come to what one comes to."""
    monkeypatch.setattr(together, "ROUND", 100)
    ends = [False] * 5 + [True]
    for is_over in (lambda: ends.pop(0), lambda: True):
        both = Together(Explorer(with_faults(1, 1)), 2, tmp_path)
        assert not both.explore(is_over)
    both = Together(Explorer(with_faults(1, 1)), 2, tmp_path)
    assert both.explore()
    assert (both.states, both.transitions) == (_ALL[1, 1], 14191)


@pytest.mark.parametrize(
    ("records", "fault", "without"),
    [(2, "", 541), (0, "elections", 2593), *of_depths([], [], [(0, "lags", 5611), (0, "crashes", 35265)])],
)
def test_no_state_is_left_out(records: int, fault: str, without: int) -> None:
    """What the explorer comes to or passes over is what all states stand for, as they are with the machines, names and all."""
    bounds = with_faults(records, bool(fault))._replace(**{kind: kind == fault for kind in FAULTS})
    explorer = Explorer(bounds)
    assert all_states(explorer, bounds, lambda cluster: repr(cluster.key())) == (without, _found(explorer))


@pytest.mark.parametrize(("records", "faults"), [(4, 0), *of_depths([], [(0, 1)], [(0, 1), (1, 1), (2, 1)])])
def test_numbers_are_what_machines_do(records: int, faults: int) -> None:
    """The explorer comes to what the machines come to, where all that was there goes on from what it stands for."""
    bounds = with_faults(records, faults)
    explorer = Explorer(bounds)
    number, states = all_states(explorer, bounds, explorer.state_of)
    assert states == _found(explorer)
    assert len(states) == number


def _found(explorer: Explorer) -> set[State]:
    """All that it comes to, and what it passes over."""
    return {each for state in explorer.explore() for each in explorer.passed_over(state)}


#: By records and faults, the states that the explorer comes to.
_ALL = {(4, 0): 125, (0, 1): 381, (1, 1): 3715, (2, 1): 17344, (4, 1): 155837, (0, 2): 24993, (1, 2): 372986}
_ALL[4, 2] = 35693544


WIDE = Bounds(appends=8, elections=4, crashes=3, duplicates=4, lags=3, lost=2)


@pytest.mark.parametrize("min_in_sync", [1, 2])
def test_random_orders(min_in_sync: int) -> None:
    for seed in range(_WALKS):
        walk(WIDE._replace(min_in_sync=min_in_sync), seed)


def test_nothing_is_stuck() -> None:
    """At the quiet end of a random order every replica has everything, and is in sync."""
    for seed in range(_WALKS // 3):
        rng = random.Random(seed)
        cluster = ModelCluster(WIDE)
        for _ in range(_STEPS):
            possible = list(cluster.events())
            if not possible:
                break
            cluster.apply(rng.choice(possible))
        cluster.left.update(dict.fromkeys(cluster.left, 0))
        for step in range(2_000):
            state = cluster.records[-1]
            replicas = cluster.replicas.values()
            if set(state.isr) == {1, 2, 3} and len({tuple(each.batches) for each in replicas}) == 1:
                marks = {each.high_watermark for each in replicas}
                if marks == {len(cluster.replicas[1].batches)}:
                    break
            possible = list(cluster.events())
            assert possible, (seed, step)
            cluster.apply(rng.choice(possible))
        else:
            pytest.fail(f"seed {seed}: {cluster.records[-1]}")


# ---- each rule switched off ---------------------------------------------------------------------------------------------


def _no_maximal_isr(self: Isr, members: Iterable[IsrMember]) -> ProposedIsr:
    change = ProposedIsr(self.leader_epoch, self.partition_epoch, tuple(sorted(members)))
    self.proposed = change
    return change


def _shrinks_at_once(self: Isr, members: Iterable[IsrMember]) -> ProposedIsr:
    change = _PROPOSE(self, members)
    self.maximal = frozenset(member.broker_id for member in change.members)
    return change


def _joins(floor: Callable[[Leading, int], int]) -> Callable[[Leading, int, int], ProposedIsr | None]:
    def expansion(self: Leading, high_watermark: int, now_ms: int) -> ProposedIsr | None:
        epoch_start, self.epoch_start = self.epoch_start, floor(self, high_watermark)
        try:
            return _EXPANSION(self, min(high_watermark, self.epoch_start), now_ms)
        finally:
            self.epoch_start = epoch_start

    return expansion


def _same_epoch_drops_the_proposal(self: Isr, partition_epoch: int, members: Iterable[int]) -> bool:
    if partition_epoch < self.partition_epoch:
        return False
    self._commit(partition_epoch, members)
    return True


def _older_metadata_count(self: Isr, partition_epoch: int, members: Iterable[int]) -> bool:
    self._commit(partition_epoch, members)
    return True


def _any_answer_counts(self: Isr, change: ProposedIsr, answer: CommittedIsr) -> bool:
    self._commit(answer.partition_epoch, answer.members)
    return True


def _refusal_is_final(self: Isr, change: ProposedIsr, code: int) -> bool:
    self._commit(self.partition_epoch, self.committed)
    return False


def _old_incarnations_count(self: Leading, replica: int, _epoch: int, *rest: int) -> bool:
    return _FETCHED(self, replica, -1, *rest)


def _old_incarnations_join(self: Leading, replica: int, progress: Any) -> bool:
    progress.broker_epoch = self.brokers.epoch_of(replica) or -1
    return True


def _cuts_to_the_high_watermark(self: Following, leader_epoch: int, leader_end: int) -> FollowerDecision:
    self._busy = True
    return FollowerDecision(FollowerStep.TRUNCATE, self._log.high_watermark)


def _appends_what_diverges(self: Following, asked: FetchPlace, code: int, _: object) -> FollowerDecision:
    if asked == self.place:
        self.last_fetched_epoch = -1
    return _ANSWERED(self, asked._replace(last_fetched_epoch=self.last_fetched_epoch), code, None)


def _appends_every_answer(
    self: Following, asked: FetchPlace, code: int, diverging: tuple[int, int] | None
) -> FollowerDecision:
    return _ANSWERED(self, self.place or asked, code, diverging)


def _counts_only_the_leader(self: Leading, log_end: int, now_ms: int) -> int:
    return log_end


def _serves_every_epoch(self: ModelCluster, leading: Leading, place: FetchPlace) -> int:
    return 0


_PROPOSE, _EXPANSION, _FETCHED, _ANSWERED = Isr.propose, Leading.expansion, Leading.fetched, Following.answered

#: A follower has nothing of an append and is out of sync, fetches it, and is proposed: the answer is known, its metadata are not.
_JOINS: tuple[Event, ...] = (
    ("append", 1),
    ("lag",),
    ("shrink", 1),
    ("alter", 0),
    ("altered", 0),
    *(("fetch", 2), ("answer", 0), ("receive", 0)),
    *(("fetch", 2), ("answer", 0)),
    ("expand", 1),
)
#: A replica restarts without its disk while it is out of sync, and was at the end before.
_LOSES_DISK: tuple[Event, ...] = (
    *(("append", 1), ("lag",), ("shrink", 1), ("alter", 0), ("altered", 0)),
    *(("fetch", 2), ("answer", 0), ("receive", 0)),
)
_RESTARTS: tuple[Event, ...] = (("crash", 2), ("restart", 2), ("metadata", 1), ("metadata", 1), ("metadata", 1))

#: What is switched off, how, and the events that show it; None where random orders do.
MUTATIONS: dict[str, tuple[type, str, Any, tuple[Event, ...] | None]] = {
    "the maximal ISR counts while a larger one is proposed": (
        Isr,
        "propose",
        _no_maximal_isr,
        (*_JOINS, ("alter", 0), ("lag",), ("append", 1)),
    ),
    "a smaller ISR counts when it is committed": (Isr, "propose", _shrinks_at_once, None),
    "who joins has all up to the high watermark": (
        Leading,
        "expansion",
        _joins(lambda leading, _: leading.epoch_start),
        None,
    ),
    "who joins has all of the epochs before": (
        Leading,
        "expansion",
        _joins(lambda _, mark: mark),
        (
            *(("append", 1), ("fetch", 2), ("answer", 0), ("receive", 0), ("fetch", 2), ("answer", 0)),
            *(("lag",), ("shrink", 1), ("alter", 0), ("altered", 0)),
            *(("elect", 2), ("metadata", 2), ("metadata", 2), ("metadata", 3), ("metadata", 3)),
            *(("fetch", 3), ("answer", 0), ("expand", 2), ("alter", 0)),
        ),
    ),
    "a proposal outlives metadata of its own epoch": (
        Isr,
        "published",
        _same_epoch_drops_the_proposal,
        (*_JOINS, ("metadata", 1), ("alter", 0), ("lag",), ("append", 1)),
    ),
    "metadata of an earlier epoch are ignored": (
        Isr,
        "published",
        _older_metadata_count,
        (*_JOINS, ("alter", 0), ("altered", 0), ("metadata", 1), ("lag",), ("append", 1)),
    ),
    "an answer to an older proposal is ignored": (
        Isr,
        "granted",
        _any_answer_counts,
        (
            *_JOINS[:4],
            ("metadata", 1),
            *_JOINS[5:],
            *(("altered", 0), ("alter", 0), ("lag",), ("append", 1)),
        ),
    ),
    "a refusal may come after the change": (
        Isr,
        "refused",
        _refusal_is_final,
        (*_JOINS, ("alter_lost", 0), ("alter", 0), ("altered", 0), ("lag",), ("append", 1)),
    ),
    "an ended incarnation does not fetch": (
        Leading,
        "fetched",
        _old_incarnations_count,
        (*_LOSES_DISK, ("fetch", 2), *_RESTARTS, ("answer", 0), ("expand", 1), ("alter", 0)),
    ),
    "an ended incarnation does not join": (
        Leading,
        "_may_join",
        _old_incarnations_join,
        (*_LOSES_DISK, ("fetch", 2), ("answer", 0), *_RESTARTS, ("expand", 1), ("alter", 0)),
    ),
    "logs are not cut to the high watermark": (Following, "_cut", _cuts_to_the_high_watermark, None),
    "what diverges is not appended": (Following, "answered", _appends_what_diverges, None),
    "an answer is for the place that was asked": (Following, "answered", _appends_every_answer, None),
    "the high watermark is what all in sync have": (Leading, "high_watermark", _counts_only_the_leader, None),
    "leader epochs are compared": (
        ModelCluster,
        "_refusal",
        _serves_every_epoch,
        (
            *(("append", 1), ("fetch", 3), ("answer", 0), ("receive", 0), ("fetch", 3)),
            *(("elect", 2), ("metadata", 2), ("metadata", 3)),
            *(("fetch", 3), ("answer", 1), ("receive", 0)),
            *(("elect", 1), ("metadata", 1), ("metadata", 1), ("answer", 0)),
            *(("metadata", 2), ("fetch", 2), ("answer", 0), ("receive", 1)),
            *(("fetch", 2), ("answer", 0), ("receive", 1), ("fetch", 2), ("answer", 0)),
        ),
    ),
}


#: The rules without which one record and one fault are enough for a violation, whatever the order of all else.
_NOTICED: tuple[str, ...] = (
    "the maximal ISR counts while a larger one is proposed",
    "a smaller ISR counts when it is committed",
    "who joins has all up to the high watermark",
    "who joins has all of the epochs before",
    "an answer to an older proposal is ignored",
    "an ended incarnation does not fetch",
    "an ended incarnation does not join",
    "the high watermark is what all in sync have",
)


@pytest.mark.deep(but=2)
@pytest.mark.parametrize("rule", _NOTICED)
def test_every_order_needs_the_rule(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, without, _ = MUTATIONS[rule]
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(Violation):
        list(Explorer(with_faults(1, 1)).explore())


@pytest.mark.deep(but=3)
@pytest.mark.parametrize("rule", MUTATIONS)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, without, story = MUTATIONS[rule]
    if story is not None:
        tell(story, complete=False)
    monkeypatch.setattr(owner, name, without)
    with pytest.raises(Violation):
        _look_for_violation(story)


def _look_for_violation(story: tuple[Event, ...] | None) -> None:
    if story is not None:
        tell(story)
    for seed in range(200):
        walk(WIDE, seed)


def tell(story: Iterable[Event], *, complete: bool = True) -> None:
    """Let these events happen; without ``complete`` as far as the rules allow it. Raises Violation."""
    cluster = ModelCluster(WIDE)
    for event in story:
        if event not in list(cluster.events()):
            assert not complete, (event, list(cluster.events()))
            return
        cluster.apply(event)
