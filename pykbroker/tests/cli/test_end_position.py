"""Where reading ends."""

from __future__ import annotations

import pytest

from pykbroker.cli.end_position import EndPosition, parse_until
from pykbroker.client.errors import UsageError

NOW = 1_769_868_000_000


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("end", EndPosition(at_end=True)),
        ("100", EndPosition(offset=100)),
        ("1h", EndPosition(timestamp=NOW - 3_600_000)),
        ("@5", EndPosition(timestamp=5)),
        ("now", EndPosition(timestamp=NOW)),
    ],
)
def test_forms(text: str, until: EndPosition) -> None:
    assert parse_until(text, NOW) == until
    assert not until.never


def test_no_choice_is_never() -> None:
    assert EndPosition().never


def test_a_time_to_come() -> None:
    with pytest.raises(UsageError, match="has not come yet"):
        parse_until(f"@{NOW + 1}", NOW)


def test_what_is_no_place() -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_until("frog", NOW)
