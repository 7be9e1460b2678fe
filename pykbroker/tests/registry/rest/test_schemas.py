from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pykbroker.registry import deciding
from pykbroker.registry.deciding import Registration
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.rest import schemas
from pykbroker.registry.rest.call import Call
from pykbroker.registry.schema import Schema
from pykbroker.registry.state import RegistryState
from pykbroker.tests.kit.turns import CountedTask

CONTEXTS = 1000
SAME = Schema('"int"')


class Known:
    """A registry that has read its topic."""

    def __init__(self) -> None:
        self._state = RegistryState()
        for number in range(CONTEXTS):
            for change in deciding.register(self._state, Registration(f":.c{number}:s", SAME))[1]:
                self._state.replay(change)

    async def state(self) -> RegistryState:
        return self._state


@pytest.mark.parametrize(
    ("ask", "path", "query", "expected"),
    [
        (
            schemas.ids,
            {"guid": SAME.guid()},
            {},
            [{"context": each, "id": 1} for each in sorted(f".c{number}" for number in range(CONTEXTS))],
        ),
        (schemas.versions, {"id": "1"}, {"subject": "s"}, [{"subject": ":.c0:s", "version": 1}]),
        (schemas.versions, {"id": "1"}, {"subject": ":.c999:s"}, [{"subject": ":.c999:s", "version": 1}]),
    ],
)
def test_a_schema_is_looked_for_in_all_contexts_in_turns(
    ask: Callable[[Call], Awaitable[Any]], path: dict[str, str], query: dict[str, str], expected: object
) -> None:
    async def asked() -> tuple[object, int]:
        task = CountedTask(ask(Call(Known(), path, query)))  # type: ignore[arg-type]
        return await task, task.longest

    found, longest = asyncio.run(asked())
    assert found == expected
    assert 0 < longest < 2 * CONTEXTS


def test_an_id_that_no_context_has_is_looked_for_in_turns() -> None:
    async def asked() -> int:
        task = CountedTask(schemas.versions(Call(Known(), {"id": "7"}, {"subject": "s"})))  # type: ignore[arg-type]
        with pytest.raises(RegistryError, match="Schema 7 not found"):
            await task
        return task.longest

    assert 0 < asyncio.run(asked()) < 2 * CONTEXTS
