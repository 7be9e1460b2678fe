"""Timestamps and durations as users write them, in milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pykbroker.client.errors import UsageError

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_SHORT_WHOLE = re.compile(rf"(?:{_SHORT.pattern})+")
_ISO = re.compile(
    r"P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


def parse_duration(text: str) -> int:
    """Parse ``90s``, ``1h30m``, ``7d`` or ISO 8601's ``PT1H30M`` into milliseconds. Raises UsageError."""
    compact = text.strip().lower()
    if _SHORT_WHOLE.fullmatch(compact):
        return round(sum(float(amount) * _UNITS_MS[unit] for amount, unit in _SHORT.findall(compact)))
    iso = _ISO.fullmatch(compact)
    if iso and any(iso.groupdict().values()):
        return round(sum(float(amount) * _UNITS_MS[unit] for unit, amount in iso.groupdict().items() if amount))
    raise UsageError(f"{text!r} is not a duration; write it as 90s, 1h30m, 7d or PT1H30M.")


def parse_when(text: str, now_ms: int) -> int:
    """Parse a date and time (UTC by default), ``@`` and milliseconds since 1970, or a duration before now.

    Raises UsageError.
    """
    plain = text.strip()
    if re.fullmatch(r"@\d+", plain):
        return int(plain[1:])
    if plain == "now":
        return now_ms
    if _SHORT_WHOLE.fullmatch(plain.lower()) or plain[:1] in "Pp":
        return now_ms - parse_duration(plain)
    try:
        when = datetime.fromisoformat(plain)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time; write it as 2026-01-31T14:00 (UTC), 2026-01-31T14:00+01:00, "
            "15m (ago) or @1769868000000 (milliseconds since 1970)."
        ) from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)


def format_ms(timestamp_ms: int) -> str:
    """Return a timestamp in ISO 8601 with milliseconds in UTC, which ``parse_when`` reads; "none" for -1."""
    if timestamp_ms < 0:
        return "none"
    try:
        when = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):  # producers may send any number
        return f"@{timestamp_ms}"
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
