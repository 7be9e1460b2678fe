"""Every message and page says the same way to install an extra, and each extra named exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from pykbroker.extras import install_hint

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SOURCES = [
    *(each for each in (ROOT / "pykbroker").rglob("*.py") if "tests" not in each.parts),
    *(ROOT / "docs").glob("*.md"),
    ROOT / "README.md",
]


def test_the_hint_is_a_command_that_pip_takes():
    assert install_hint("cli") == "run  pip install '.[cli]'  in a clone of pykbroker (docs/installing.md)"


def test_no_text_says_another_way():
    """A name with an extra means a package index, which has no pykbroker yet: only docs/installing.md speaks of that."""
    others = re.compile(r"pip install '?pykbroker|the extra `?pykbroker\[|pykbroker's sources")
    assert [each.name for each in SOURCES if others.search(each.read_text())] == ["installing.md"]


def test_each_extra_that_is_named_exists():
    named = re.compile(r"install_hint\([\"'](\w+)[\"']\)|pip install '\.\[([\w,]+)\]'")
    found = {
        extra for each in SOURCES for one in named.finditer(each.read_text()) for extra in (one[1] or one[2]).split(",")
    }
    assert found
    assert found <= EXTRAS.keys()


def test_the_page_has_every_extra_for_users():
    page = (ROOT / "docs" / "installing.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == EXTRAS.keys() - {"units", "test", "demo"}
