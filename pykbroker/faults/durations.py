"""Durations as text: ``500ms``, ``45s``, ``1.5m``, ``2h``, ``7d``."""

from __future__ import annotations

import re
from typing import Any

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST = 36_500 * _UNITS["d"]
#: Characters of a text that an error repeats.
_SHOWN = 40
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")


def milliseconds(text: Any) -> int:
    """Whole milliseconds of a text such as ``45s`` or of a number of milliseconds. Raises ValueError with a text for users."""
    if isinstance(text, str):
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f"{text[:_SHOWN]!r} is not a duration; write a number and ms, s, m, h or d, such as 500ms or 45s"
            )
        return _bounded(float(found[1]) * _UNITS[found[2]])
    if isinstance(text, bool) or not isinstance(text, (int, float)) or not text >= 0:
        raise ValueError(f"{text!r} is not a duration; write a number of milliseconds that is not negative, or 45s")
    return _bounded(text)


def _bounded(ms: float) -> int:
    """What timers can count, and no text that is too long to be written."""
    if ms > _LONGEST:
        raise ValueError("a duration has at most 36500d")
    return round(ms)


def as_text(ms: int) -> str:
    """The shortest way to write whole milliseconds."""
    for unit in ("d", "h", "m", "s"):
        if ms and ms % _UNITS[unit] == 0:
            return f"{ms // _UNITS[unit]}{unit}"
    return f"{ms}ms"
