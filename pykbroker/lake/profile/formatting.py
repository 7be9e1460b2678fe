"""Formats numbers for people: counts, sizes, durations and times."""

from __future__ import annotations

from datetime import UTC, datetime

from pykbroker.lake.profile.statistics import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"), (1, "ms"))
_PREFIXES = ("", "k", "M", "G", "T", "P")


def short(number: float, base: int = 1000) -> str:
    """For example ``950``, ``12.3k``, ``4M``: at most three digits."""
    power = 0
    while number >= base - 0.5 and power < len(_PREFIXES) - 1:
        number /= base
        power += 1
    text = f"{number:.1f}".removesuffix(".0") if number < 100 and power else f"{number:.0f}"
    return text + _PREFIXES[power]


def size(number: float) -> str:
    """For example ``12.3 kB``, with decimal prefixes."""
    text = short(number)
    return f"{text} B" if text[-1].isdigit() else f"{text[:-1]} {text[-1]}B"


def span(milliseconds: int) -> str:
    """For example ``0``, ``250 ms``, ``3 min``, ``2 d 4 h``: the two largest units."""
    found = []
    for unit, name in _UNITS:
        if milliseconds >= unit:
            found.append(f"{milliseconds // unit} {name}")
            milliseconds %= unit
        elif found:
            break
    return " ".join(found[:2]) or "0"


def rate(number: int, milliseconds: int) -> str:
    """For example ``3.4k/s``, ``12/h``: in the shortest unit of time with at least one."""
    per_ms = number / max(milliseconds, 1)
    for unit, name in ((SECOND_MS, "s"), (MINUTE_MS, "min"), (HOUR_MS, "h")):
        if per_ms * unit >= 1:
            return f"{short(per_ms * unit)}/{name}"
    return f"{short(per_ms * DAY_MS)}/d"


def share(part: int, whole: int) -> str:
    """For example ``12.5 %``; only nothing is ``0 %``."""
    if not whole or not part:
        return "0 %"
    percent = 100 * part / whole
    return "< 0.1 %" if percent < 0.1 else f"{percent:.1f} %".replace(".0 %", " %")


def moment(time_ms: int) -> str:
    """For example ``2013-01-31 14:05:00``, in UTC; the number for a time outside the calendar."""
    try:
        when = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"@{time_ms}"
    return f"{when:%Y-%m-%d %H:%M:%S}".removesuffix(":00").removesuffix(" 00:00")


def clock(time_ms: int, step_ms: int) -> str:
    """The time of a day, in UTC, as exact as steps of this length need it: ``14:05``, ``14:05:30``, ``14:05:30.250``."""
    try:
        when = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return moment(time_ms)
    return when.time().isoformat(
        "minutes" if step_ms >= MINUTE_MS else "seconds" if step_ms >= SECOND_MS else "milliseconds"
    )


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
