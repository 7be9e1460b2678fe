"""The table of what requests take, and the counters of calls; callgrind takes too long for a test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.bench_job import instructions
from scripts.bench_job.counted import SYSTEM_CALLS, Calls
from scripts.bench_job.counted_loads import PLAIN
from scripts.bench_job.instructions import Row, interpreter, markdown


def test_the_table_names_the_interpreter() -> None:
    costs = {"instructions": 71_342.0, "Python calls": 32.0, SYSTEM_CALLS: 2.975}
    alone = markdown([Row("Heartbeat", costs, None)])
    assert "| Heartbeat | 71,342 | 32 | 3 |" in alone
    assert alone.endswith(interpreter())
    beside = markdown([Row("Heartbeat", {"instructions": 50.0}, {"instructions": 100.0})])
    assert "| Heartbeat | 100 | 50 | 0.500 |" in beside
    assert "strace is not installed" in beside
    assert beside.endswith(interpreter())
    assert "{}.{}.{}".format(*sys.version_info) in interpreter()
    assert "PGO" in interpreter()
    assert " -O" in interpreter()


def test_calls_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of what a client does as a whole, and what is small beside it."""
    monkeypatch.setattr(instructions, "_KINDS", (Calls,))
    names = ("Heartbeat", "JoinGroup, SyncGroup, LeaveGroup", "transaction of one record, from begin to commit")
    taken = instructions._counted({}, [load for load in PLAIN if load.name in names]) | instructions._secured()
    assert [set(costs) for costs in taken.values()] == [set(Calls.columns)] * (len(names) + 1)
    beat, *others = taken.values()
    for costs in others:
        assert all(costs[column] > 2 * beat[column] > 2 for column in Calls.columns)
