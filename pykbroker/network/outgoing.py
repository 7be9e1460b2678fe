"""Responses on their way from a connection to its socket, written once per turn of the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.storage.log.stored import StoredRecords

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Buffer  # type: ignore[attr-defined]  # for readers; exists from Python 3.12

    from pykbroker.network.streaming import Stream
    from pykbroker.runtime.runtime import Runtime

#: Smaller responses are joined into one write; joining larger ones costs more than it saves.
_JOIN_BELOW = 64 * 1024


class Outgoing:
    """Collects pieces until ``flush``. Records that lie in files, and all behind them, go through a ``Stream``.

    ``started`` is called when a stream begins, ``ended`` when all of it is written (None) or cannot be read (the error).
    """

    __slots__ = ("_ended", "_has_stored", "_pieces", "_runtime", "_started", "_stream", "is_paused", "size")

    def __init__(
        self, runtime: Runtime, started: Callable[[], None], ended: Callable[[Exception | None], None]
    ) -> None:
        self._runtime = runtime
        self._started = started
        self._ended = ended
        self._pieces: list[Buffer] = []
        #: Bytes collected since the last flush.
        self.size = 0
        self._has_stored = False
        self._stream: Stream | None = None
        #: Whether the socket is full.
        self.is_paused = False

    @property
    def is_streaming(self) -> bool:
        """Whether records are still being sent from files."""
        return self._stream is not None

    @property
    def last_slice(self) -> int:
        """Bytes of the slice that was written last: all of it is in memory while the socket has not taken its end."""
        return 0 if self._stream is None else self._stream.last_slice

    @property
    def is_blocked(self) -> bool:
        """Whether the client has to take responses before more of its requests are read."""
        return self.is_paused or self._stream is not None

    def add(self, pieces: list[Buffer]) -> None:
        """Send a response with the next flush."""
        self._pieces += pieces
        if len(pieces) == 1:
            self.size += len(pieces[0])
        else:
            self.size += sum(map(len, pieces))
            self._has_stored = self._has_stored or StoredRecords in map(type, pieces)

    def flush(self, transport: asyncio.Transport | None) -> None:
        """Write what was collected; without a transport, which a closed connection lacks, nothing happens."""
        pieces = self._pieces
        if not pieces or transport is None:
            return
        size, self.size = self.size, 0
        self._pieces = []
        if self._has_stored or self._stream is not None:
            self._has_stored = False
            self._send_stored(transport, pieces)
        elif len(pieces) == 1:
            transport.write(pieces[0])
        elif size < _JOIN_BELOW:
            transport.write(b"".join(pieces))
        elif type(transport).__module__.startswith("asyncio."):
            # since Python 3.12, asyncio's own tell the protocol that the socket is full after ``write``, and not after ``writelines``
            transport.writelines(pieces[:-1])
            transport.write(pieces[-1])
        else:
            transport.writelines(pieces)

    def _send_stored(self, transport: asyncio.Transport, pieces: list[Buffer]) -> None:
        if self._stream is None:
            from pykbroker.network.streaming import Stream

            self._started()
            self._stream = Stream(self._runtime, transport, self._stream_ended)
            if self.is_paused:
                self._stream.pause()
        self._stream.add(pieces)

    def _stream_ended(self, error: Exception | None) -> None:
        self._stream = None
        self._ended(error)

    def pause(self) -> None:
        """The socket is full."""
        self.is_paused = True
        if self._stream is not None:
            self._stream.pause()

    def resume(self) -> None:
        """The socket takes more."""
        self.is_paused = False
        if self._stream is not None:
            self._stream.resume()

    def drop(self) -> None:
        """Discard everything, and the callbacks: they refer to the connection, which would remain for the garbage collector."""
        self._pieces.clear()
        if self._stream is not None:
            self._stream.stop()
            self._stream = None
        self._started = _nothing
        self._ended = _nothing


def _nothing(error: Exception | None = None) -> None:
    """The callbacks of a connection that has ended."""
