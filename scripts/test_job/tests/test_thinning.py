"""A quick run has an even spread of each test's sets of parameters, and every test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.jars import ROOT
from scripts.test_job.thinning import MOST_SETS, spread

TESTS = """
import pytest

@pytest.mark.parametrize("seed", range(1000))
def test_seeds(seed): pass

@pytest.mark.parametrize("row", range({few}))
def test_rows(row): pass

def test_alone(): pass

@pytest.mark.deep(but=2)
@pytest.mark.parametrize("row", range(9))
def test_costly(row): pass
"""


def test_a_run_has_the_first_and_the_last_set_and_each_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(few=MOST_SETS))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "scripts.test_job.thinning",
        "--collect-only",
    ]
    done = subprocess.run(
        [*command, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )
    collected = [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    seeds = [name for name in collected if name.startswith("test_seeds")]
    assert (len(seeds), seeds[0], seeds[-1]) == (MOST_SETS, "test_seeds[0]", "test_seeds[999]")
    assert sum(name.startswith("test_rows") for name in collected) == MOST_SETS
    assert "test_alone" in collected
    assert [name for name in collected if name.startswith("test_costly")] == ["test_costly[0]", "test_costly[8]"]


def test_a_spread_has_none_twice() -> None:
    for size in (MOST_SETS + 1, 2 * MOST_SETS - 1, 12345):
        chosen = spread(list(range(size)))  # type: ignore[arg-type]
        assert len(set(chosen)) == MOST_SETS
        assert (chosen[0], chosen[-1]) == (0, size - 1)
