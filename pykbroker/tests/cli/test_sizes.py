"""Numbers of bytes as people read them."""

from __future__ import annotations

import pytest

from pykbroker.cli.sizes import format_size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, None),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (5 * 1024**4, "5.0 TiB"),
        (2.0**60, "1024.0 PiB"),
    ],
)
def test_sizes(size: float | None, text: str | None) -> None:
    assert format_size(size) == text
