"""Sends responses whose records lie in files: reads them in slices, as the client takes them.

So a response of 50 MB needs the memory of one slice, however slowly the client reads, and other connections have their turn
between slices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from pykbroker.storage.log.stored import StoredRecords

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waits import Deferred

#: Bytes read and handed to the socket in one turn of the loop, and the least where memory is short.
_SLICE = 512 * 1024
_SMALL_SLICE = 32 * 1024


class _Sink(Protocol):
    def write(self, data: Any, /) -> None: ...


class Stream:
    """Sends pieces in order. ``ended`` is called once: with None when everything is written to the socket, or with the error
    for which the rest cannot be read.
    """

    __slots__ = ("_at", "_ended", "_held", "_paused", "_pieces", "_runtime", "_sink", "_under_way", "last_slice")

    def __init__(self, runtime: Runtime, sink: _Sink, ended: Callable[[Exception | None], None]) -> None:
        self._runtime = runtime
        self._sink = sink
        self._ended = ended
        self._pieces: deque[Any] = deque()
        self.last_slice = 0
        self._held = 0  # bytes of pieces in memory
        self._at = 0  # sent bytes of the first piece
        self._paused = False
        self._under_way = False  # a slice is being read, or the next turn is scheduled

    def add(self, pieces: Iterable[Any]) -> None:
        """Append pieces, to be sent from the next turn on. Those in memory count as unsent until they are written."""
        for piece in pieces:
            self._pieces.append(piece)
            if not isinstance(piece, StoredRecords):
                self._count(len(piece))
        self._soon()

    def pause(self) -> None:
        """The socket is full."""
        self._paused = True

    def resume(self) -> None:
        """The socket takes more."""
        self._paused = False
        self._soon()

    def stop(self) -> None:
        """Send nothing more."""
        self._pieces.clear()
        self._count(-self._held)

    def _count(self, size: int) -> None:
        self._held += size
        self._runtime.memory.unsent.count(size)

    def _soon(self) -> None:
        if not (self._paused or self._under_way):
            self._under_way = True
            self._runtime.wake_queue.add(self._go_on)

    def _go_on(self) -> None:
        self._under_way = False
        while self._pieces and not isinstance(self._pieces[0], StoredRecords):
            if self._paused:
                return
            piece = self._pieces.popleft()
            self._sink.write(piece)
            self._count(-len(piece))
        if self._paused:
            return
        if not self._pieces:
            self._ended(None)
            return
        stored: StoredRecords = self._pieces[0]
        size = self._runtime.memory.answer_bytes(_SLICE, _SMALL_SLICE)
        try:
            data = stored.slice_now(self._at, size)
        except Exception as error:  # noqa: BLE001 - the connection logs it and closes
            self._ended(error)
            return
        if data is None:
            self._under_way = True
            self._runtime.offload_read(stored.slice, self._at, size).when_done(self._read)
        else:
            self._send(data)

    def _read(self, done: Deferred[Any]) -> None:
        self._under_way = False
        if not self._pieces:
            return
        try:
            data = done.value
        except Exception as error:  # noqa: BLE001 - as above
            self._ended(error)
            return
        self._send(data)

    def _send(self, data: Any) -> None:
        self._at += len(data)
        self.last_slice = len(data)
        if self._at >= len(self._pieces[0]):
            self._pieces.popleft()
            self._at = 0
        self._sink.write(data)
        self._soon()
