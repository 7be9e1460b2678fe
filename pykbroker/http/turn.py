"""Divides work of the HTTP side over turns of the loop, with clients served in between."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from pykbroker.brokers.cluster import Cluster

T = TypeVar("T")

#: Items between two looks at the clock.
_AT_ONCE: Final = 50
#: Longest slice. A produce that arrives meanwhile waits for the rest of it: less than half the time that it takes itself.
TURN_S: Final = 0.00005


class Turn:
    """The length of the current slice. ``now`` returns seconds."""

    def __init__(self, now: Callable[[], float], cluster: Cluster) -> None:
        self._now = now
        self._turns = cluster.runtime.turns
        self._began = now()

    async def share(self) -> None:
        """Yield to the loop if the slice is long enough. To be called after each small piece of work."""
        if self.is_long():
            await self.over()

    def is_long(self) -> bool:
        """Whether to yield to the loop: for pieces of work so small that a call of ``share`` costs as much."""
        return self._now() - self._began >= TURN_S

    async def each(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items, with others served in between. They are of the moment: who may change them meanwhile gives a copy."""
        for number, item in enumerate(items):
            if not number % _AT_ONCE:
                await self.share()
            yield item

    async def over(self) -> None:
        """Yield to the loop, however short the slice was: after work whose length is unknown."""
        await asyncio.sleep(0)
        self.begin()

    def begin(self) -> None:
        """Start a new slice, after other work had the loop."""
        self._turns.began()
        self._began = self._now()
