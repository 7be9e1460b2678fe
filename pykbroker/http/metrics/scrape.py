"""Runs scrapes one after the other: the collectors' steps on the loop, with clients served in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from pykbroker.http.metrics.page import Page, Steps
from pykbroker.http.turn import Turn
from pykbroker.process.life import awaited

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.clock import Clock

#: Bytes per piece of the page: each is a system call, and is copied if the socket is full.
_PIECE: Final = 16 * 1024


class Collector(Protocol):
    """Reads metrics from a cluster, a little in each step."""

    def collect(self, cluster: Cluster, page: Page, /) -> Steps:
        """Add the lines of these metrics to the page; other work of the loop runs between steps."""
        ...


class NoCluster(RuntimeError):
    """There is no cluster: the process stops or is reset."""


class Scrapes:
    """See the module. Requests during a scrape share its page. ``cluster`` returns another one after a reset."""

    def __init__(self, cluster: Callable[[], Cluster | None], collectors: Iterable[Collector], clock: Clock) -> None:
        self._cluster = cluster
        self._collectors = list(collectors)
        self._now = clock.monotonic
        self._under_way: asyncio.Task[list[bytes]] | None = None

    async def page(self) -> list[bytes]:
        """Return a page, in pieces. Raises NoCluster."""
        if self._under_way is None:
            self._under_way = asyncio.create_task(self._scrape())
            self._under_way.add_done_callback(self._over)
        return await asyncio.shield(self._under_way)

    def _over(self, task: asyncio.Task[list[bytes]]) -> None:
        """Drop the page, which may have megabytes."""
        self._under_way = None
        if not task.cancelled():
            # mark its exception as retrieved: it went to the requests that wait, if they are still there
            task.exception()

    async def stop(self) -> None:
        """Cancel a scrape that is under way."""
        if self._under_way is not None:
            under_way = self._under_way
            under_way.cancel()
            await asyncio.wait([under_way])

    async def _scrape(self) -> list[bytes]:
        cluster = self._cluster()
        if cluster is None:
            raise NoCluster
        page, turn = Page(), Turn(self._now, cluster)
        for collector in self._collectors:
            for wait in collector.collect(cluster, page):
                if wait is None:
                    await turn.share()
                else:
                    await awaited(wait.settled())
                    turn.begin()
        pieces: list[bytes] = []
        some: list[bytes] = []
        size = 0
        for chunk in page.chunks():
            some.append(chunk)
            size += len(chunk)
            if size >= _PIECE:
                pieces.append(b"".join(some))
                some, size = [], 0
            await turn.share()
        return [*pieces, b"".join(some)]
