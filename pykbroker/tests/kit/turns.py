"""A cluster in memory that counts the executed lines of each turn of its loop.

A turn is what the loop does between two polls: the dispatcher with a frame, or what is due and what was left for the next turn. Of
asyncio's tasks it is what is done between two waits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any

from pykbroker.runtime.runtime import Runtime, run_inline
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster, Peer

#: The most lines of a turn, some four milliseconds. Work that is not divided executes a multiple of what there is.
MOST = 100_000


@cache
def _is_counted(code: CodeType) -> bool:
    """False for the simulated disk and the tests' kit, whose lines are no work of a broker."""
    return not any(room in code.co_filename for room in ("/simulation/", "/worlds/", "/tests/"))


@contextmanager
def counted(counts: Callable[[CodeType], bool] = _is_counted) -> Iterator[list[int]]:
    """Yields the number of lines that are executed meanwhile in this thread, in a list; complete at the end."""
    lines = [0]

    def called(frame: FrameType, event: str, arg: object) -> Any:
        return count if counts(frame.f_code) else None

    def count(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            lines[0] += 1
        return count

    former = sys.gettrace()
    sys.settrace(called)
    try:
        yield lines
    finally:
        sys.settrace(former)


class CountedTask:
    """To be awaited in place of a coroutine, of the HTTP side say: ``longest`` is the most lines that it executes between two waits, of
    the code that ``counts``.
    """

    longest = 0

    def __init__(self, work: Coroutine[Any, Any, Any], counts: Callable[[CodeType], bool] = _is_counted) -> None:
        self._work = work
        self._counts = counts

    def __await__(self) -> Generator[Any, None, Any]:
        failed: BaseException | None = None
        while True:
            try:
                with counted(self._counts) as lines:
                    waited = self._work.send(None) if failed is None else self._work.throw(failed)
            except StopIteration as ended:
                return ended.value
            finally:
                self.longest = max(self.longest, lines[0])
            try:
                failed = None
                yield waited
            except Exception as error:  # noqa: BLE001 - as the work would get it
                failed = error


class Counted(MemoryCluster):
    """Counts the lines of each turn; ``longest`` is the most of one, ``executed`` are those of all turns."""

    longest = 0
    executed = 0
    counts = False
    traced = True

    def _hand_in(self, frame: bytearray, broker: int, peer: Peer) -> Any:
        with self.turn():
            return super()._hand_in(frame, broker, peer)

    def _decoded(self, api_key: int, version: int, pieces: Any) -> Any:
        """Not decoded while turns are counted: the lines of the client are not the broker's."""
        return pieces if self.counts else super()._decoded(api_key, version, pieces)

    def run_turn(self) -> None:
        """As MemoryCluster's."""
        with self.turn():
            super().run_turn()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn in which the test does what the loop would."""
        if not self.traced:
            yield
            return
        with counted() as lines:
            yield
        self.longest = max(self.longest, lines[0])
        self.executed += lines[0]


def in_a_thread(runtime: Runtime, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
    """Lines of a thread hold nobody; its result comes in a later turn."""
    former = sys.gettrace()
    sys.settrace(None)
    try:
        found = run_inline(function, *args)
    finally:
        sys.settrace(former)
    result: Deferred[Any] = Deferred()
    runtime.wake_queue.add(partial(found.pass_to, result))
    return result
