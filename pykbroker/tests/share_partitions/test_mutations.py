"""The models of share partitions notice each rule that is off: a model that does not would say nothing about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from pykbroker.share_partitions import leading, share_partition
from pykbroker.share_partitions.acquiring import Acquisition
from pykbroker.share_partitions.dead_letters.giving_up import GivingUp
from pykbroker.share_partitions.dead_letters.writing import DeadLetters
from pykbroker.share_partitions.in_flight import InFlight, PendingChange, Run
from pykbroker.share_partitions.leading import LedSharePartition
from pykbroker.share_partitions.share_partition import SharePartition
from pykbroker.share_partitions.states import RecordState
from pykbroker.tests.share_partitions.test_leading_model import OvertakenModel, ShareGroupModel
from pykbroker.tests.share_partitions.test_leading_waits_model import WaitingModel
from pykbroker.tests.share_partitions.test_model import ShareModel

pytestmark = pytest.mark.deep

Patch = Callable[[pytest.MonkeyPatch], None]


def instead(owner: Any, name: str, other: Any) -> Patch:
    """``other`` in place of what is there."""
    return lambda patch: patch.setattr(owner, name, other)


def around(owner: Any, name: str, change: Callable[[Any], Any]) -> Patch:
    """What ``change`` makes of what is there."""
    return lambda patch: patch.setattr(owner, name, change(getattr(owner, name)))


def is_final(run: Run) -> bool:
    return run.change is None and (run.state.is_final or run.state is RecordState.ARCHIVING)


def minds_no_change(check: Callable[[Run, str], None]) -> Callable[[Run, str], None]:
    def held(run: Run, member: str) -> None:
        change, run.change = run.change, None
        try:
            check(run, member)
        finally:
            run.change = change

    return held


def counts_not(acquisition: Acquisition, run: Run) -> None:
    run.state, run.member, run.deadline = RecordState.ACQUIRED, acquisition._request.member, acquisition._deadline
    acquisition._note(run.first, run.last, run.count)


def is_never_strict(begun: Callable[..., None]) -> Callable[..., None]:
    def begin(self: Acquisition, in_flight: InFlight, end: int, count: int, limits: Any, request: Any) -> None:
        request.strict = False
        begun(self, in_flight, end, count, limits, request)

    return begin


def carried_out_anyway(complete: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, change, persisted: complete(self, change, persisted=True)


#: Rules of a share partition, each with what it is without.
RULES: dict[str, Patch] = {
    "the start passes what is done with": instead(InFlight, "drop_final", lambda _: None),
    "the start waits for dead letters": instead(Run, "is_final", property(is_final)),
    "what is being changed is not changed again": around(share_partition, "_check_held", minds_no_change),
    "only who holds records acknowledges them": instead(share_partition, "_check_held", lambda run, member: None),
    "what was delivered often enough is given up": instead(
        share_partition, "_released", lambda count, limits: RecordState.AVAILABLE
    ),
    "rejected records have dead letters": instead(share_partition, "_given_up", lambda limits: RecordState.ARCHIVED),
    "locks end": instead(SharePartition, "expire", lambda self, now: None),
    "the next lock's end is known": instead(SharePartition, "_watch", lambda self: setattr(self, "wake_at", math.inf)),
    "aborted records are not delivered": instead(SharePartition, "_give_up", lambda self, acquired, aborted: None),
    "the limit of a strict member holds": around(Acquisition, "__init__", is_never_strict),
    "deliveries are counted": instead(Acquisition, "_take", counts_not),
    "what is not persisted is taken back": around(SharePartition, "complete", carried_out_anyway),
    "runs that are alike are joined": instead(InFlight, "join", lambda self, first, last: None),
    "the log's start moves": instead(SharePartition, "log_start_moved", lambda self, offset: None),
    "what was compacted away is passed": instead(SharePartition, "_archive", lambda self, first, last: None),
    "a member that leaves releases what it has": instead(
        SharePartition, "release", lambda self, member: PendingChange(self.start_offset)
    ),
    "what is not sent is no delivery": instead(SharePartition, "take_back", lambda self, member, acquired: None),
    "what was persisted is known after a restart": instead(share_partition, "_restored", lambda start, state: ()),
}


def never_searches(write: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, source, given_up, since_ms=None: write(self, source, given_up, None)


def forgets(begin: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, given_up, since_ms=None: None if since_ms is not None else begin(self, given_up)


def answers_at_once(_: Any) -> Callable[..., Any]:
    def persist(self: LedSharePartition, change: PendingChange) -> Any:
        if change.batches:
            self.write(change).recover(BaseException, lambda _: None).or_log("%s", self.key)
        self._complete(change, persisted=True)
        return leading.Deferred.completed(None)

    return persist


#: Rules of the leader of a share partition. That it ends with its leadership is among those of waiting: the share coordinator refuses what a
#: former leader writes, so that only who waits notices it.
RULES_OF_LEADERS: dict[str, Patch] = {
    "letters that are written are found": around(DeadLetters, "write", never_searches),
    "what waited for letters goes on after a restart": around(GivingUp, "begin", forgets),
    "an answer waits until it is persisted": around(LedSharePartition, "_persist", answers_at_once),
    "locks end by the clock": instead(LedSharePartition, "_arm", lambda self: None),
}
#: Rules of leaders whose logs lose records.
RULES_OF_OVERTAKEN: dict[str, Patch] = {
    "what was compacted away is passed": instead(SharePartition, "_archive", lambda self, first, last: None),
    "what is too old is passed": instead(SharePartition, "log_start_moved", lambda self, offset: None),
}


def without_waking(name: str) -> Patch:
    """What a method does, but that nobody who waits is woken."""

    def change(method: Callable[..., Any]) -> Callable[..., Any]:
        def carried_out(self: LedSharePartition, *args: Any, **kwargs: Any) -> Any:
            waiting, self.waiting = self.waiting, {}
            try:
                return method(self, *args, **kwargs)
            finally:
                waiting.update(self.waiting)
                self.waiting = waiting

        return carried_out

    return around(LedSharePartition, name, change)


#: Who waits is woken by each of these, and told when it can be used no more. That locks which are over wake needs a story that the model
#: seldom tells: ``handlers/test_share_fetch.py`` has it. That its opening wakes is seen nowhere, since the state is read at once here.
RULES_OF_WAITING: dict[str, Patch] = {
    "it ends with its leadership": instead(LedSharePartition, "end", lambda self: None),
    "who waits is told of its end": without_waking("end"),
    "new records wake": without_waking("appended"),
    "the end of a transaction wakes": without_waking("changed"),
    "what is released wakes": without_waking("_complete"),
}


def notices(model: type[RuleBasedStateMachine], examples: int) -> bool:
    """Whether a model finds anything, in stories that are the same each time."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=30,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(model, settings=chosen)
    except Exception:  # noqa: BLE001 - whatever a broken rule leads to
        return True
    return False


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_share_partitions_that_is_off_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES[rule](monkeypatch)
    assert notices(ShareModel, 1000)


@pytest.mark.parametrize("rule", RULES_OF_LEADERS)
def test_a_rule_of_their_leaders_that_is_off_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES_OF_LEADERS[rule](monkeypatch)
    assert notices(ShareGroupModel, 200)


@pytest.mark.parametrize("rule", RULES_OF_WAITING)
def test_a_rule_of_waiting_that_is_off_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES_OF_WAITING[rule](monkeypatch)
    assert notices(WaitingModel, 200)


@pytest.mark.parametrize("rule", RULES_OF_OVERTAKEN)
def test_a_rule_of_what_is_overtaken_that_is_off_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES_OF_OVERTAKEN[rule](monkeypatch)
    assert notices(OvertakenModel, 200)
