"""Waits of HTTP requests for what the broker does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pykbroker.steered.refusal import BETWEEN, Refusal

if TYPE_CHECKING:
    from pykbroker.runtime.waits import Deferred

T = TypeVar("T")


class Outcomes:
    """Turns waits into coroutines, which end at the latest when their cluster is dropped."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def of(self, wait: Deferred[T]) -> T:
        """Return the result of a wait. Raises its error, and Refusal if the cluster is dropped meanwhile."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(over)
        wait.settled().map(lambda _: None if over.done() else over.set_result(None)).or_log("waiting for an outcome")
        try:
            await over
        finally:
            self._waiting.discard(over)
        return wait.value

    def drop(self) -> None:
        """Refuse all that wait, since their cluster is no more."""
        for each in self._waiting:
            if not each.done():
                each.set_exception(Refusal(503, BETWEEN))
