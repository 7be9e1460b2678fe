"""The reasons why values are not decoded, as sentences for people."""

from __future__ import annotations

from typing import Any

_SHOWN = 60


class ConversionError(Exception):
    """A value does not fit its schema or column: ``what`` is wrong, at ``path`` in the value."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what, path)
        self.what = what
        self.path = path

    def inside(self, step: str) -> ConversionError:
        """The same error, with a path from the enclosing value: ``.name`` in a struct, ``[3]`` in an array."""
        return ConversionError(self.what, step + self.path)

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')}: {self.what}" if self.path else self.what


def excerpt(value: Any) -> str:
    """The beginning of a value, escaped for terminals."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
