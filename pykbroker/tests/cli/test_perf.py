"""What perf puts into a request."""

from __future__ import annotations

import pytest

from pykbroker.cli.perf import request_records


@pytest.mark.parametrize(
    ("wanted", "size", "rate", "expected"),
    [
        (500, 100, None, 500),
        (500, 10_000, None, 89),
        (500, 10_000_000, None, 1),
        (500, 0, None, 500),
        (500, 100, 1000.0, 100),
        (500, 100, 0.5, 1),
        (50, 100, 1000.0, 50),
    ],
)
def test_a_request_holds_what_fits(wanted: int, size: int, rate: float | None, expected: int) -> None:
    assert request_records(wanted, size, rate) == expected
