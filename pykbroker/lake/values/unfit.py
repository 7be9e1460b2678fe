"""Why a value is not decoded, in words for a person."""

from __future__ import annotations

from typing import Any

_SHOWN = 60


class Unfit(Exception):
    """A value that its schema or a column cannot take: ``what`` is wrong, and ``path``, where in the value."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what, path)
        self.what = what
        self.path = path

    def inside(self, step: str) -> Unfit:
        """The same, seen from what this was found in: ``.name`` of a struct, ``[3]`` of an array."""
        return Unfit(self.what, step + self.path)

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')}: {self.what}" if self.path else self.what


def shown(value: Any) -> str:
    """The beginning of a value, harmless to a terminal."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
