"""Each planted bug is found within 200 seeds, the same life each time, and its corrected twin is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from compat_tests.harness.process import ROOT
from compat_tests.snippets.blocks import pages

#: Lives of each twin: in CI few, since many are lived anyhow; KAFKA_WORLD_SEEDS=2000 is what docs/worlds.md tells of.
TWINS = int(os.environ.get("KAFKA_WORLD_SEEDS", "5"))


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    """What the hunt prints, by name."""
    done = subprocess.run(
        [sys.executable, "-m", "compat_tests.worlds.hunt", "--twins", str(TWINS)],
        cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "5"},
    )  # fmt: skip
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_each_bug_is_found_and_its_twin_is_not(rows: dict[str, dict[str, Any]]) -> None:
    assert len(rows) >= 20
    assert {name: row for name, row in rows.items() if row["seed"] is None or not row["repeatable"]} == {}
    assert {name: row["twin"] for name, row in rows.items() if row["twin"]} == {}


def test_the_page_has_the_seeds(rows: dict[str, dict[str, Any]]) -> None:
    """Else put in what `python -m compat_tests.worlds.hunt --table` prints; a seed changes with the brokers' and the client's turns."""
    (page,) = (page for page in pages() if page.name == "worlds.md")
    text = page.read_text()
    assert [row["what"] for row in rows.values() if f"| {row['what']} |" not in text] == []
