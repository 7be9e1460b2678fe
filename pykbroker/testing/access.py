"""How a test reaches its brokers: by calls on the thread that they run in, and by waits that are looked at after each turn of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import wrap_future
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.testing.waiting import Seen, Waits

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.testing.embedded import Embedded

T = TypeVar("T")


class Access(ABC):
    """What the parts of ``Kafka`` have in common, which are what a test may ask, do and look at (``asking``, ``acting``,
    ``observing``).
    """

    def __init__(self) -> None:
        self._waits = Waits()

    @property
    @abstractmethod
    def _here(self) -> Embedded:
        """The brokers of this process. Raises RuntimeError where they run in another."""

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker that runs, with commas between, as clients want it."""

    @property
    def _cluster(self) -> Cluster:
        """To be touched on its own thread. Raises RuntimeError where it does not run, or in another process."""
        return self._here.node.cluster

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the brokers' loop."""
        try:
            return self._here.begin(work)
        except RuntimeError:
            work.close()
            raise

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        running = self._begin(work)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def _ask(self, function: Callable[..., T], *args: Any, **named: Any) -> T:
        """Call a function with the cluster, between two turns of the loop."""

        async def called() -> T:
            result = function(self._cluster, *args, **named)
            self._waits.look()
            return result

        return self._run(called())

    def _ask_later(self, function: Callable[..., Deferred[T]], *args: Any, **named: Any) -> T:
        """The same for what is answered later: come back when it is."""

        async def called() -> T:
            over: Future[None] = Future()
            answer = function(self._cluster, *args, **named)
            answer.settled().map(over.set_result)
            await wrap_future(over)
            self._waits.look()
            return answer.value

        return self._run(called())

    def _wait(self, look: Callable[[Cluster], Seen[T]], what: str, timeout: float) -> T:
        return self._run(self._waits.until(lambda: look(self._cluster), what, timeout))
