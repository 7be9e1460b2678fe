"""Access of a test to its brokers: calls on their thread, and waits whose condition is checked after each turn of their loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import _get_running_loop
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.testing.waiting import Seen, TimedOut, Waits

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.steered.embedded import Embedded

T = TypeVar("T")


class Access(ABC):
    """The base of the parts of ``Kafka`` (``asking``, ``acting``, ``observing``)."""

    def __init__(self) -> None:
        self._waits = Waits()

    @property
    @abstractmethod
    def _here(self) -> Embedded:
        """The brokers of this process. Raises RuntimeError if they run in another."""

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str:
        """``host:port`` of every running broker, separated by commas."""

    @property
    @abstractmethod
    def schema_registry_url(self) -> str:
        """The URL of the schema registry; where the broker is protected, with a user and a password. Raises RuntimeError without
        ``schema_registry``.
        """

    @property
    @abstractmethod
    def _authority(self) -> str | None:
        """The certificate in PEM of the authority of its ``security``; None without TLS."""

    @property
    def _cluster(self) -> Cluster:
        """The cluster, to be used on its own thread. Raises RuntimeError if it does not run, or runs in another process."""
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
        """Call a function with the cluster on the loop, and return its result."""

        async def called() -> T:
            result = function(self._cluster, *args, **named)
            self._waits.look()
            return result

        return self._run(called())

    def _ask_later(self, function: Callable[..., Deferred[T]], *args: Any, **named: Any) -> T:
        """The same for a function that returns a Deferred: return when it is done. Raises LifeEnded if the brokers stop, or are
        reset, before.
        """

        async def called() -> T:
            answer = await self._here.node.lifetimes.outcome(function(self._cluster, *args, **named))
            self._waits.look()
            return answer

        return self._run(called())

    def _wait(self, look: Callable[[Cluster], Seen[T]], what: str, timeout: float) -> T:
        try:
            return self._run(self._waits.until(lambda: look(self._cluster), what, timeout))
        except TimedOut as error:
            if _get_running_loop() is None:
                raise
            hint = (
                "the test's own event loop stood still meanwhile, and so did its clients: await the same of kafka.aio"
            )
            raise TimedOut(f"{error}; {hint}") from None
