from __future__ import annotations

import pytest

from pykbroker.cli.times import format_ms, parse_duration, parse_when
from pykbroker.client.errors import UsageError

NOW = 1_769_868_000_000  # 2026-01-31T14:00:00Z


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("250ms", 250),
        ("7D", 604_800_000),
        ("1.5h", 5_400_000),
        ("2w", 1_209_600_000),
        ("PT1H30M", 5_400_000),
        ("P7D", 604_800_000),
        ("P1DT0.5S", 86_400_500),
        ("PT0S", 0),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "90", "h", "1y", "P", "PT", "1h 30", "-5m", "1h30"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2026-01-31T14:00", NOW),
        ("2026-01-31T14:00:00.250Z", NOW + 250),
        ("2026-01-31T15:00+01:00", NOW),
        ("2026-01-31", NOW - 14 * 3_600_000),
        ("@1769868000000", NOW),
        ("15m", NOW - 900_000),
        ("PT15M", NOW - 900_000),
        ("now", NOW),
    ],
)
def test_points_in_time(text: str, milliseconds: int) -> None:
    assert parse_when(text, NOW) == milliseconds


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1769868000000", "@", "Px"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a"):
        parse_when(text, NOW)


def test_formatted_times_can_be_read_again() -> None:
    assert format_ms(NOW + 7) == "2026-01-31T14:00:00.007Z"
    assert parse_when(format_ms(NOW + 7), 0) == NOW + 7


def test_times_that_are_none() -> None:
    assert format_ms(-1) == "none"
    assert format_ms(2**62) == f"@{2**62}"
