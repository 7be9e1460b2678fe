"""The fenced code blocks of our pages, their headings, and where they link to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.process import ROOT

_LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FENCE = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")


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


def links(page: Path) -> list[str]:
    """The targets of a page's links and pictures, but for those on other machines."""
    return _LINK.findall(_CODE.sub("", _FENCE.sub("", page.read_text(encoding="utf-8"))))


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where the page is shown."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in _HEADING.findall(text)}
