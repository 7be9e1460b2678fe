"""The time without an acknowledgement."""

from __future__ import annotations

import queue

from scripts.bench_job.replicas import _longest_pause


def test_the_longest_pause_is_between_any_two_acknowledgements_that_count() -> None:
    times: queue.SimpleQueue[float] = queue.SimpleQueue()
    for each in (0.5, 1.1, 1.2, 1.9, 2.0, 2.1, 9.0):
        times.put(each)
    assert _longest_pause(times, 1.0, 2.05) == 1.9 - 1.2
    assert times.get() == 9.0


def test_who_is_silent_beyond_the_end_is_waited_for() -> None:
    times: queue.SimpleQueue[float] = queue.SimpleQueue()
    times.put(9.0)
    assert _longest_pause(times, 1.0, 2.0) == 8.0
