from __future__ import annotations

import pytest

from pykbroker.runtime.digits import number


@pytest.mark.parametrize(
    ("digits", "found"),
    [
        ("0", 0),
        ("007", 7),
        ("999", 999),
        ("1000", None),
        ("9" * 5000, None),
        ("", None),
        ("-1", None),
        ("²", None),
        ("1_0", None),
    ],
)
def test_numbers_of_three_digits(digits: str, found: int | None) -> None:
    assert number(digits, 3) == found
