"""Numbers of quotas."""

from __future__ import annotations

import pytest

from pykbroker.container.tools.quota_configs import as_java


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.0, "0.0"),
        (1024.0, "1024.0"),
        (12.5, "12.5"),
        (9999999.0, "9999999.0"),
        (10_000_000.0, "1.0E7"),
        (10_485_760.0, "1.048576E7"),
        (0.001, "0.001"),
        (0.00025, "2.5E-4"),
    ],
)
def test_as_java(value: float, printed: str) -> None:
    assert as_java(value) == printed
