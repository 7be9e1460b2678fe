"""The memory budget: a bound, in the order of arrival, and nobody waits for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.runtime.memory import MemoryBudget
from pykbroker.runtime.waits import Deferred

LIMIT = 100


def test_what_fits_is_granted_at_once() -> None:
    budget = MemoryBudget(LIMIT)
    assert budget.received.take(60) is None
    assert budget.decompressed.take(40) is None
    assert budget.used == LIMIT


def test_what_does_not_fit_waits_in_the_order_of_arrival() -> None:
    budget = MemoryBudget(LIMIT)
    budget.received.take(80)
    large, small = budget.received.take(50), budget.received.take(10)
    assert large is not None
    assert small is not None, "a small one must not overtake: large ones would be starved"
    assert (budget.waiting, budget.is_short) == (2, True)
    budget.received.give(80)
    assert large.done
    assert small.done
    assert budget.used == 60


def test_a_use_that_holds_nothing_is_granted_whatever_it_asks_for() -> None:
    budget = MemoryBudget(LIMIT)
    assert budget.received.take(1000) is None
    assert budget.decompressed.take(50) is None, "received bytes wait for decompression: it must go on"
    assert budget.decompressed.take(50) is not None


def test_the_bound_of_one_use_stops_no_other() -> None:
    budget = MemoryBudget(LIMIT)
    budget.received.own_limit = 10
    budget.received.take(10)
    waits = budget.received.take(1)
    assert waits is not None
    budget.decompressed.take(10)
    assert budget.decompressed.take(10) is not None, "whoever comes later waits behind"
    budget.decompressed.give(10)
    assert budget.decompressed.held == 10
    assert not waits.done


def test_whoever_goes_away_stops_nobody() -> None:
    budget = MemoryBudget(LIMIT)
    budget.received.take(LIMIT)
    first, second = budget.received.take(LIMIT), budget.received.take(1)
    assert first is not None
    assert second is not None
    first.abandon()
    budget.received.give(1)
    assert second.done


def test_answers_never_wait_and_shrink() -> None:
    budget = MemoryBudget(3200)
    assert budget.answer_bytes(90, 10) == 90
    budget.unsent.count(1600)
    assert budget.answer_bytes(90, 10) == 50
    budget.unsent.count(8000)
    assert budget.answer_bytes(90, 10) == 10


def test_others_are_asked_for_what_they_keep_when_somebody_waits() -> None:
    budget = MemoryBudget(LIMIT)
    kept = 90

    def relieve() -> None:
        nonlocal kept
        given, kept = kept, 0
        budget.received.give(given)

    budget.received.take(kept)
    budget.relieve = relieve
    wait = budget.received.take(50)
    assert wait is not None
    assert wait.done


@given(
    st.lists(st.tuples(st.sampled_from(["take", "give", "abandon"]), st.booleans(), st.integers(1, 150)), max_size=60)
)
def test_nobody_is_starved_and_the_bound_holds(steps: list[tuple[str, bool, int]]) -> None:
    budget = MemoryBudget(LIMIT)
    held: list[tuple[object, int]] = []
    waiting: list[tuple[object, int, Deferred[None]]] = []

    def look() -> None:
        for each in list(waiting):
            if each[2].done:
                waiting.remove(each)
                held.append(each[:2])

    for verb, first, size in steps:
        account = budget.received if first else budget.decompressed
        if verb == "take":
            wait = account.take(size)
            if wait is None:
                held.append((account, size))
            else:
                waiting.append((account, size, wait))
        elif verb == "give" and held:
            given, bytes_ = held.pop(size % len(held))
            given.give(bytes_)  # type: ignore[attr-defined]
        elif verb == "abandon" and waiting:
            waiting.pop(size % len(waiting))[2].abandon()
        look()
        assert budget.used == sum(bytes_ for _, bytes_ in held)
        assert budget.waiting == len(waiting)
        large = sum(
            max((bytes_ for each, bytes_ in held if each is one), default=0)
            for one in (budget.received, budget.decompressed)
        )
        assert budget.used <= LIMIT + large
    while held:
        given, bytes_ = held.pop()
        given.give(bytes_)  # type: ignore[attr-defined]
        look()
    assert not waiting
    assert budget.used == 0
