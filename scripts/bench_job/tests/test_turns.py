"""The rows of ``scripts/bench --turns`` are those of the table of ``pykbroker/tests/handlers/test_longest_turn.py``."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pykbroker.tests.kit.large_requests import LARGE
from scripts import longest_turns
from scripts.bench_job import turns


class _Asked:
    """In place of a broker: what it would be asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any, int]] = []

    def __getattr__(self, name: str) -> Any:
        async def prepare(*_: Any, **__: Any) -> None:
            pass

        return prepare

    async def request(self, what: str, request: Any, version: int) -> None:
        self.requests.append((what, request, version))


def test_every_api_of_the_table_is_a_row() -> None:
    assert longest_turns.every_api in longest_turns.CASES
    asked = _Asked()
    asyncio.run(longest_turns.every_api(asked))  # type: ignore[arg-type]  # it asks no more of a broker
    assert [request.API_KEY for _, request, _ in asked.requests] == LARGE
    assert [what.split(" of ")[0] for what, _, _ in asked.requests] == [key.name for key in LARGE]


def test_a_line_of_the_gauge_is_a_row_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    longest_turns.Bench.tell("METADATA of 3,000", 0.0123, 0.5)
    (found,) = turns._LINE.finditer(capsys.readouterr().out)
    assert (found["case"], float(found["turn"])) == ("METADATA of 3,000", 12.3)
    assert "| METADATA of 3,000 | 12.3 ms |" in turns.markdown([[{found["case"]: float(found["turn"])}]])
