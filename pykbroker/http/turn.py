"""Divides work of the HTTP side over turns of the loop, with clients served in between."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.brokers.cluster import Cluster

#: How long the loop is kept from others at a stretch. A produce that arrives meanwhile waits for the rest of it; so short, that is
#: less than what produces differ by anyway, and a page that is made in forty turns moves nobody's 99th percentile.
TURN_S: Final = 0.0001


class Turn:
    """How long this turn of the loop has been ours. ``now`` gives seconds."""

    def __init__(self, now: Callable[[], float], cluster: Cluster) -> None:
        self._now = now
        self._turns = cluster.runtime.turns
        self._began = now()

    async def share(self) -> None:
        """Let others have their turn, if ours was long enough. To be called after each little piece of work."""
        if self._now() - self._began >= TURN_S:
            await self.over()

    async def over(self) -> None:
        """Let others have their turn, however short ours was: after work whose length is not ours to know."""
        await asyncio.sleep(0)
        self.begin()

    def begin(self) -> None:
        """Somebody else has had the loop."""
        self._turns.began()
        self._began = self._now()
