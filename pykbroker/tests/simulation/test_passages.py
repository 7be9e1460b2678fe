"""The stories of replication, as they are told and as they are written. ``REWRITE=1`` writes them anew: then read what has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykbroker.tests.simulation.replication_story import STORIES, retold

ALL = sorted(STORIES.glob("*.txt"))


pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    found = retold(written)
    if os.environ.get("REWRITE"):
        path.write_text(found, encoding="utf-8")
    else:
        assert found == written


def test_the_known_cases_are_there() -> None:
    names = {path.stem for path in ALL}
    assert {f"kip_{number}" for number in (101, 279, 320, 392, 497, 903, 966)} <= names
