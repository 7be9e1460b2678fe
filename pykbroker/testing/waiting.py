"""Waiting for something to be so in the broker: looked at after each turn of its loop in which anything happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster

T = TypeVar("T")


class TimedOut(TimeoutError):
    """What was waited for did not come; the text says what was seen last."""


class Seen(NamedTuple, Generic[T]):
    """One look: what there is, and whether that is what is waited for."""

    value: T
    met: bool


class Waits:
    """Those who wait. It belongs to the broker's loop; nothing is done, and nothing asked, while nobody waits."""

    def __init__(self) -> None:
        self._looks: dict[Callable[[], None], None] = {}

    def follow(self, cluster: Cluster) -> None:
        """Look after each turn of a cluster's loop; to be called once it is served."""
        loop = asyncio.get_running_loop()

        def schedule(ended: Callable[[], None]) -> None:
            loop.call_soon(ended)
            if self._looks:
                loop.call_soon(self.look)

        cluster.runtime.turns.measure(schedule)

    def look(self) -> None:
        """Let all who wait look again."""
        for look in list(self._looks):
            look()

    async def until(self, look: Callable[[], Seen[T]], what: str, timeout_s: float) -> T:
        """What ``look`` sees when that is so. Raises TimedOut after so many seconds of real time, and what ``look`` raises."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[T] = loop.create_future()
        last: list[T] = []

        def again() -> None:
            if over.done():
                return
            try:
                seen = look()
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                over.set_exception(error)
                return
            last[:] = [seen.value]
            if seen.met:
                over.set_result(seen.value)

        again()
        self._looks[again] = None
        try:
            async with asyncio.timeout(timeout_s):
                return await over
        except TimeoutError:
            raise TimedOut(f"after {timeout_s:g} s {what}; last seen: {last[0]}") from None
        finally:
            del self._looks[again]
