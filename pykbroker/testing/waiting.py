"""Waits until a condition of the broker's state holds; it is checked after each turn of the loop in which anything happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pykbroker.process.life import Life

T = TypeVar("T")


class TimedOut(TimeoutError):
    """The condition did not hold in time; the text has the last state."""


class Seen(NamedTuple, Generic[T]):
    """One check: the state, and whether the condition holds."""

    value: T
    met: bool


class Waits:
    """The waits of a test. Belongs to the broker's loop; costs nothing while nobody waits."""

    def __init__(self) -> None:
        self._looks: dict[Callable[[], None], None] = {}

    def follow(self, life: Life) -> None:
        """Check after each turn of a cluster's loop, from now on; called on the loop."""
        loop = asyncio.get_running_loop()

        def schedule(ended: Callable[[], None]) -> None:
            loop.call_soon(ended)
            if self._looks:
                loop.call_soon(self.look)

        life.cluster.runtime.turns.measure(schedule)

    def look(self) -> None:
        """Check all conditions now."""
        for look in list(self._looks):
            look()

    async def until(self, look: Callable[[], Seen[T]], what: str, timeout_s: float) -> T:
        """Wait until the condition of ``look`` holds; returns its state. Raises TimedOut after ``timeout_s`` seconds of real
        time, and what ``look`` raises.
        """
        loop = asyncio.get_running_loop()
        over: asyncio.Future[T] = loop.create_future()
        last: list[T] = []

        def again() -> None:
            if over.done():
                return
            try:
                seen = look()
            except Exception as error:  # noqa: BLE001 - raised where the wait is awaited
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
