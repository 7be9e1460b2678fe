from __future__ import annotations

import threading
from typing import NoReturn

from pykbroker.cli.lake_progress import Tasks, showing_progress
from pykbroker.cli.output import Output
from pykbroker.runtime.clock import ManualClock


def test_time_left_is_that_of_the_stages_that_run() -> None:
    clock = ManualClock()
    tasks = Tasks(clock)
    assert tasks.line() == "Spark plans"
    tasks.seen({3: (0, 40)})
    assert tasks.line() == "stage 3: 0 of 40 tasks"
    clock.advance(10_000)
    tasks.seen({3: (10, 40)})
    assert tasks.line() == "stage 3: 10 of 40 tasks, 30 s left"
    tasks.seen({4: (0, 1000), 5: (1, 200)})
    clock.advance(1000)
    assert tasks.line() == "stage 4, 5: 1 of 1,200 tasks, 1199 s left"


def test_what_is_only_shown_never_ends_the_job() -> None:
    looked = threading.Event()

    def look() -> NoReturn:
        looked.set()
        raise LookupError("Spark's reports have another form")

    with showing_progress(look, Output(as_json=False), 0.001):
        assert looked.wait(60)
