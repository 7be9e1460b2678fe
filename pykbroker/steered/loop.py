"""The event loop of a broker in a test's process, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class LoopThread:
    """A loop that runs from ``start`` to ``stop``. The other methods may be called from any other thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop. Raises RuntimeError if it does not run."""
        if self._loop is None:
            raise RuntimeError("the broker is not running; enter it with `with`, or call start()")
        return self._loop

    def start(self) -> None:
        running: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon thread, so that an interpreter that exits in the middle of a test does not wait for the loop.
        self._thread = threading.Thread(target=self._run, args=(running,), name=self._name, daemon=True)
        self._thread.start()
        self._loop = running.result()

    def _run(self, running: Future[asyncio.AbstractEventLoop]) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            loop = runner.get_loop()
            loop.call_soon(running.set_result, loop)
            loop.run_forever()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop. Raises RuntimeError if it does not run."""
        try:
            loop = self.loop
        except RuntimeError:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, loop)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function between two turns of the loop, and return, or raise, what it does."""

        async def called() -> T:
            return function(*args)

        return self.begin(called()).result()

    def stop(self) -> None:
        """Stop the loop; tasks that still run are cancelled."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop = self._thread = None
