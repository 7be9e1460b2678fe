"""The lives of a process's cluster: from when its brokers have their logs until they are stopped, or reset for the next life.

Whatever belongs to a cluster (its timers and threads, fault rules, limits, altered listeners and levels of loggers, who waits
for it) is registered with its life and ends with it. Whatever is of the process (sockets, settings, the clock, the request
log) follows the lives: it is told when one begins.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Why requests are refused while there is no cluster.
BETWEEN: Final = "the process is stopping or being reset"


class LifeEnded(Exception):
    """What was waited for is of a cluster that was stopped or reset."""

    def __init__(self) -> None:
        super().__init__(BETWEEN)


async def awaited(wait: Deferred[T]) -> T:
    """The result of a wait, for tasks: the one place where a task awaits what the brokers do. Raises its error. If the task is
    cancelled, the wait is abandoned.
    """
    if not wait.done:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wait.settled().map(lambda _: None if over.done() else over.set_result(None)).or_log("ending a task's wait")
        try:
            await over
        except asyncio.CancelledError:
            wait.abandon()
            raise
    return wait.value


class Life:
    """One life. Belongs to the loop."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        #: Whether it has ended.
        self.over = False
        #: Whether it ended for another one, by a reset, and not with the process.
        self.followed = False
        self._endings: dict[object, Callable[[], None]] = {}

    def at_end(self, end: Callable[[], None]) -> Callable[[], None]:
        """Call ``end`` when the life ends; the last registered comes first. Returns what takes it back."""
        key = object()
        self._endings[key] = end
        return lambda: self._endings.pop(key, None) and None

    def end(self, *, followed: bool = False) -> None:
        """End it: call what is registered. A failure is logged and does not stop the others."""
        self.over, self.followed = True, followed
        while self._endings:
            _, end = self._endings.popitem()
            try:
                end()
            except Exception:
                log.exception("Unhandled error at the end of a cluster's life; the others end")

    async def outcome(self, wait: Deferred[T]) -> T:
        """The result of a wait. Raises its error, and LifeEnded if the life ends before."""
        if self.over:
            raise LifeEnded
        outcome: Deferred[T] = Deferred()
        outcome.when_abandoned = wait.abandon
        wait.pass_to(outcome)
        take_back = self.at_end(lambda: outcome.fail(LifeEnded()))
        try:
            return await awaited(outcome)
        finally:
            take_back()


class Lifetimes:
    """The lives of one process, one after the other. Belongs to the loop."""

    def __init__(self) -> None:
        #: The present one; None before the start, between two and after the stop.
        self.current: Life | None = None
        self._followers: dict[object, Callable[[Life], object]] = {}

    def follow(self, began: Callable[[Life], object]) -> Callable[[], None]:
        """Call ``began`` with each life when it begins, before clients are accepted, and at once with the present one. Returns
        what takes it back.
        """
        key = object()
        self._followers[key] = began
        if self.current is not None:
            began(self.current)
        return lambda: self._followers.pop(key, None) and None

    def begin(self, cluster: Cluster) -> Life:
        """Begin a life."""
        assert self.current is None, "a life has not ended"
        life = self.current = Life(cluster)
        for began in list(self._followers.values()):
            began(life)
        return life

    def end(self, *, followed: bool = False) -> None:
        """End the present life, if there is one."""
        life, self.current = self.current, None
        if life is not None:
            life.end(followed=followed)

    async def outcome(self, wait: Deferred[T]) -> T:
        """The result of a wait for the present cluster. Raises its error, and LifeEnded if that ends before."""
        if self.current is None:
            raise LifeEnded
        return await self.current.outcome(wait)
