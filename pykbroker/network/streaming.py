"""Answers whose records lie in files: they are read a slice at a time, as the client takes them.

So an answer of 50 MB costs a slice of memory, however long a client takes or does not, and other connections have their
turn between two slices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from pykbroker.storage.log.stored import StoredRecords

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waits import Deferred

#: Bytes read and handed to the socket in one turn of the loop.
_SLICE = 512 * 1024


class _Sink(Protocol):
    def write(self, data: Any, /) -> None: ...


class Stream:
    """Sends pieces in their order. ``ended`` is called once: with None when all is handed to the socket, else with why
    there cannot be more.
    """

    __slots__ = ("_at", "_ended", "_paused", "_pieces", "_runtime", "_sink", "_under_way")

    def __init__(self, runtime: Runtime, sink: _Sink, ended: Callable[[Exception | None], None]) -> None:
        self._runtime = runtime
        self._sink = sink
        self._ended = ended
        self._pieces: deque[Any] = deque()
        self._at = 0  # bytes of the first piece that are sent
        self._paused = False
        self._under_way = False  # a slice is being read, or the next turn is planned

    def add(self, pieces: Iterable[Any]) -> None:
        """Send these too; the first of them in the next turn at the earliest."""
        self._pieces.extend(pieces)
        self._soon()

    def pause(self) -> None:
        """The socket is full."""
        self._paused = True

    def resume(self) -> None:
        """The socket takes more."""
        self._paused = False
        self._soon()

    def stop(self) -> None:
        """Nobody takes anything any more."""
        self._pieces.clear()

    def _soon(self) -> None:
        if not (self._paused or self._under_way):
            self._under_way = True
            self._runtime.wake_queue.add(self._go_on)

    def _go_on(self) -> None:
        self._under_way = False
        while self._pieces and not isinstance(self._pieces[0], StoredRecords):
            if self._paused:
                return
            self._sink.write(self._pieces.popleft())
        if self._paused:
            return
        if not self._pieces:
            self._ended(None)
            return
        stored: StoredRecords = self._pieces[0]
        try:
            data = stored.slice_now(self._at, _SLICE)
        except Exception as error:  # noqa: BLE001 - handed on: the connection says it and ends
            self._ended(error)
            return
        if data is None:
            self._under_way = True
            self._runtime.offload_read(stored.slice, self._at, _SLICE).when_done(self._read)
        else:
            self._send(data)

    def _read(self, done: Deferred[Any]) -> None:
        self._under_way = False
        if not self._pieces:
            return
        try:
            data = done.value
        except Exception as error:  # noqa: BLE001 - handed on as above
            self._ended(error)
            return
        self._send(data)

    def _send(self, data: Any) -> None:
        self._at += len(data)
        if self._at >= len(self._pieces[0]):
            self._pieces.popleft()
            self._at = 0
        self._sink.write(data)
        self._soon()
