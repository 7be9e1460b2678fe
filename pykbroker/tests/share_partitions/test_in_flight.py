"""Runs of records that share a state: cut, joined and forgotten as a list of single records would be."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.share_partitions.in_flight import Batch, InFlight, PendingChange, Run
from pykbroker.share_partitions.states import RecordState

STATES = st.sampled_from(RecordState)


def in_flight(*batches: tuple[int, int]) -> InFlight:
    """Available batches by first and last offset."""
    return InFlight([Run(*each, Batch(*each), RecordState.AVAILABLE, 0) for each in batches])


def by_offset(runs: InFlight) -> dict[int, RecordState]:
    return {offset: run.state for run in runs for offset in range(run.first, run.last + 1)}


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    changes=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10), STATES), max_size=8),
)
def test_any_changes_are_those_of_single_records(sizes: list[int], changes: list[tuple[int, int, RecordState]]) -> None:
    edges = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    runs = in_flight(*((begin, end - 1) for begin, end in pairwise(edges)))
    expected = dict.fromkeys(range(edges[-1]), RecordState.AVAILABLE)
    for first, more, state in changes:
        for run in runs.cut(first, first + more):
            run.put(state, 0)
        runs.join(first, first + more)
        expected |= {offset: state for offset in range(first, first + more + 1) if offset in expected}
        assert by_offset(runs) == expected
        assert len(runs) <= len(sizes) + sum(before is not after for before, after in pairwise(expected.values()))


@given(at=st.integers(0, 25), states=st.lists(STATES, min_size=20, max_size=20))
def test_the_start_passes_what_is_final(at: int, states: list[RecordState]) -> None:
    runs = in_flight((0, 9), (10, 19))
    for offset, state in enumerate(states):
        for run in runs.cut(offset, offset):
            run.put(state, 0)
    runs.drop_before(at)
    left = list(range(at, 20))
    last = None
    while left and states[left[0]].is_final:
        last = left.pop(0)
    assert runs.drop_final() == last
    assert list(by_offset(runs)) == left


def test_batches_are_not_joined() -> None:
    runs = in_flight((0, 4), (5, 9))
    runs.join(0, 9)
    assert [(run.first, run.last) for run in runs] == [(0, 4), (5, 9)]


def test_what_is_cut_while_it_is_persisted_is_changed_whole() -> None:
    runs, change = in_flight((0, 9)), PendingChange(0)
    (run,) = runs.cut(0, 9)
    run.change, run.next_state = change, RecordState.ACKNOWLEDGED
    change.runs.append(run)
    runs.cut(3, 5)
    assert sorted((each.first, each.last) for each in change.runs) == [(0, 2), (3, 5), (6, 9)]
    runs.join(0, 9)
    assert len(runs) == 3
    runs.drop_before(4)
    assert sorted((each.first, each.last) for each in change.runs) == [(4, 5), (6, 9)]


def test_gaps_of_the_log_are_no_records() -> None:
    runs = in_flight((0, 1), (8, 9))
    assert runs.among(2, 7) == []
    assert [run.first for run in runs.among(1, 8)] == [0, 8]
