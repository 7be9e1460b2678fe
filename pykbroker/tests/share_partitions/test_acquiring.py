"""One acquisition: whole batches or a strict limit, what is available again first, and records that are isolated."""

from __future__ import annotations

import pytest

from pykbroker.share_partitions.acquiring import AcquireRequest, Acquisition
from pykbroker.share_partitions.in_flight import Batch, InFlight, Run
from pykbroker.share_partitions.states import Limits, RecordState

A, B, C = (0, 9), (10, 19), (20, 29)
DEADLINE = 30.0


def acquire(
    runs: list[Run], *batches: tuple[int, int], most: int = 500, **more
) -> tuple[list[tuple[int, int, int]], Acquisition]:
    limits = more.pop("limits", Limits())
    request = AcquireRequest("m", batches[0][0], batches, most, more.pop("batch_size", 1), **more)
    end = runs[-1].last + 1 if runs else batches[0][0]
    acquisition = Acquisition(InFlight(runs), end, sum(run.size for run in runs), limits, request)
    return [tuple(each) for each in acquisition.run(DEADLINE)], acquisition


def available(first: int, last: int, count: int, batch: tuple[int, int] | None = None) -> Run:
    return Run(first, last, Batch(*(batch or (first, last))), RecordState.AVAILABLE, count)


def test_a_batch_is_acquired_as_a_whole_and_the_next_one_is_left() -> None:
    found, after = acquire([], A, B, most=3)
    assert (found, after.end_offset) == ([(0, 9, 1)], 10)


def test_a_strict_limit_cuts_a_batch_and_the_rest_is_available() -> None:
    runs: list[Run] = []
    found, after = acquire(runs, A, B, most=3, strict=True)
    assert (found, after.end_offset) == ([(0, 2, 1)], 10)
    assert [(run.first, run.last, run.state) for run in runs] == [
        (0, 2, RecordState.ACQUIRED),
        (3, 9, RecordState.AVAILABLE),
    ]


@pytest.mark.parametrize(
    ("size", "found"), [(1, [A, B, C]), (0, [A, B, C]), (-5, [A, B, C]), (11, [(0, 19), C]), (30, [(0, 29)])]
)
def test_new_batches_are_at_least_as_large_as_the_member_wants(size: int, found: list[tuple[int, int]]) -> None:
    assert acquire([], A, B, C, batch_size=size)[0] == [(*each, 1) for each in found]


def test_what_is_available_again_comes_first_and_counts_its_delivery() -> None:
    run = available(*A, 1)
    found, _ = acquire([run], A, B)
    assert found == [(0, 9, 2), (10, 19, 1)]
    assert (run.state, run.member, run.deadline) == (RecordState.ACQUIRED, "m", DEADLINE)


def test_what_another_member_holds_is_passed() -> None:
    held = Run(*A, Batch(*A), RecordState.ACQUIRED, 1, "other", 1.0)
    assert acquire([held, available(*B, 1)], A, B)[0] == [(10, 19, 2)]
    assert (held.member, held.count) == ("other", 1)


@pytest.mark.parametrize(("before", "last"), [(3, 9), (4, 4), (5, 1), (6, 0)])
def test_fewer_of_a_batch_are_delivered_at_once_as_its_end_comes_near(before: int, last: int) -> None:
    """From half of eight deliveries on: half of the batch, a quarter, an eighth."""
    found, _ = acquire([available(*A, before)], A, limits=Limits(max_deliveries=8))
    assert found == [(0, last, before + 1)]


def test_for_the_last_time_a_record_comes_alone_and_nothing_with_it() -> None:
    assert acquire([available(*A, 4)], A, B)[0] == [(0, 0, 5)]
    assert acquire([available(*A, 1), available(*B, 4)], A, B)[0] == [(0, 9, 2)]


def test_nothing_new_beyond_what_may_be_in_flight_but_what_is_available_again() -> None:
    limits = Limits(max_in_flight=10)
    assert acquire([available(*A, 1)], A, B, limits=limits)[0] == [(0, 9, 2)]


def test_no_more_is_in_flight_though_others_hold_a_part_of_it() -> None:
    held = Run(*A, Batch(*A), RecordState.ACQUIRED, 1, "other", DEADLINE)
    found, after = acquire([held, available(*B, 1)], A, B, C, limits=Limits(max_in_flight=20))
    assert (found, after.end_offset) == ([(10, 19, 2)], 20)
