"""Settings between commas."""

from __future__ import annotations

import pytest

from pykbroker.container.tools.configs import entries
from pykbroker.container.tools.running import ToolError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {}),
        ("retention.ms=1000", {"retention.ms": "1000"}),
        ("cleanup.policy=[compact,delete],segment.ms=5", {"cleanup.policy": "compact,delete", "segment.ms": "5"}),
        ("a=, b = 2", {"a": "", "b": "2"}),
        (
            "advertised.listeners=[PLAINTEXT://localhost:1,BROKER://b:2]",
            {"advertised.listeners": "PLAINTEXT://localhost:1,BROKER://b:2"},
        ),
    ],
)
def test_settings(text: str | None, expected: dict[str, str]) -> None:
    assert entries(text) == expected


def test_what_is_no_setting_is_named() -> None:
    with pytest.raises(ToolError, match="'a=1,b' is not like NAME=VALUE"):
        entries("a=1,b")
