"""Source text under construction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Code:
    """Lines of Python, with the present depth of indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self._depth + text if text else "")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add ``head`` and indent what follows; without a head, nothing changes."""
        if not head:
            yield
            return
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def __str__(self) -> str:
        return "\n".join(self.lines)
