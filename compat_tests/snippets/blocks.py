"""The fenced code blocks of our pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.process import ROOT

_FENCE = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """``place`` is where it begins, as in ``README.md:12``; ``language`` is what stands behind the fence."""

    place: str
    language: str
    text: str

    def commands(self) -> list[str]:
        """The lines of a shell block, continued ones as one, without comments that stand alone."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def pages() -> list[Path]:
    """What people read: the pages at the top of the repository, and those in docs/."""
    return sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md"))


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}", found[2], found[3])
        for found in _FENCE.finditer(text)
    ]
