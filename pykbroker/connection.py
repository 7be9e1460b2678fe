"""One client connection: frames in, responses out, in the order of the requests.

Bytes are received into one block and parsed where they lie; a frame that does not fit moves to a larger block, which
the connection keeps while it is of reasonable size, because a client that sends one such frame sends more. A handler
sees slices of the block, so whatever it keeps beyond its call it must copy (wire's decoders copy all but records).
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import struct
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from pykbroker import dispatch
from pykbroker.waits import Deferred

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # a name for people; Python 3.12 has it

    from pykbroker.broker import Broker

log = logging.getLogger(__name__)

_BLOCK = 64 * 1024
#: A block up to this size stays with its connection; a larger frame gets memory of its own, for itself alone.
_KEPT_BLOCK = 2 * 1024 * 1024
#: Responses smaller than this are joined into one write; joining larger ones costs more than it saves.
_JOIN_BELOW = 64 * 1024
#: Requests that may wait at once on one connection before no more of it is read.
_MAX_WAITING = 128

_SIZE = struct.Struct(">i")


class _Slot:
    """The place of a response that is not there yet, in the order of requests."""

    __slots__ = ("done", "pieces")

    def __init__(self) -> None:
        self.done = False
        self.pieces: list[Buffer] | None = None


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket. ``on_close`` is told when it ends."""

    def __init__(self, broker: Broker, listener: str, max_frame: int, on_close: Callable[[Connection], None]) -> None:
        self.broker = broker
        self.listener = listener
        self.host = ""
        self.port = 0
        self.principal = "User:ANONYMOUS"
        self.id = broker.next_connection_id()
        self.last_active = broker.cluster.clock.monotonic()
        self.client_software: tuple[str, str] = ("unknown", "unknown")
        self._max_frame = max_frame
        self._on_close = on_close
        self._transport: asyncio.Transport | None = None  # until the connection is to end
        self._socket: asyncio.Transport | None = None  # until it has ended
        self._finishing = False
        self._view = memoryview(bytearray(_BLOCK))
        self._start = 0  # where the first unparsed byte lies
        self._end = 0  # where the next received byte goes
        self._waiting: deque[_Slot] = deque()
        self._out: list[Buffer] = []
        self._in_turn = False
        self._write_paused = False
        self._reading_paused = False
        self._held = False

    # ---- the transport's side -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self._socket = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.host, self.port = peer[0], peer[1]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = self._socket = None
        self._waiting.clear()
        self._out.clear()
        self._on_close(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        self._turn()

    def pause_writing(self) -> None:
        self._write_paused = True
        self._pause_reading()

    def resume_writing(self) -> None:
        self._write_paused = False
        self._resume()

    # ---- frames in --------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Take up every whole frame that has arrived, then send what was answered in one write."""
        self._in_turn = True
        self.last_active = self.broker.cluster.clock.monotonic()
        try:
            self._take_frames()
        except dispatch.CloseConnection as error:
            self.close(str(error))
        except Exception:
            log.exception("A request from %s:%d failed in a way we did not foresee", self.host, self.port)
            self.close("its request could not be answered (the error stands above)")
        finally:
            self._in_turn = False
        self._flush()

    def _take_frames(self) -> None:
        view, start, end = self._view, self._start, self._end
        while end - start >= 4 and not self._reading_paused:
            size = _SIZE.unpack_from(view, start)[0]
            if not 0 <= size <= self._max_frame:
                raise dispatch.CloseConnection(self._strange_size(bytes(view[start : start + 4]), size))
            frame_end = start + 4 + size
            if frame_end > end:
                self._start = start
                self._make_room(4 + size)
                return
            try:
                answer = dispatch.handle_frame(self.broker, self, view[start + 4 : frame_end])
            except dispatch.NotYet as error:
                self._start = start
                self._hold(error.until)
                return
            self._start = frame_end
            self._answer(answer)
            if self._transport is None:
                return
            start = frame_end
        if start == end:
            self._reset_block()
        else:
            self._start = start
            self._make_room(4)

    def _strange_size(self, prefix: bytes, size: int) -> str:
        if prefix[:2] == b"\x16\x03":
            return "it opened with a TLS handshake, but this listener speaks plaintext"
        if prefix in (b"GET ", b"POST", b"HEAD", b"PUT "):
            return "it speaks HTTP, not Kafka's protocol"
        return f"it announced a frame of {size} bytes, and socket.request.max.bytes is {self._max_frame}"

    def _make_room(self, needed: int) -> None:
        """See that the frame beginning at ``_start`` can be received whole behind its present bytes."""
        view = self._view
        have = self._end - self._start
        if self._start + needed <= len(view) and self._end < len(view):
            return
        if needed <= len(view):
            view[:have] = view[self._start : self._end]
        else:
            if needed <= _KEPT_BLOCK:
                larger = memoryview(bytearray(1 << (needed - 1).bit_length()))
            else:
                larger = memoryview(mmap.mmap(-1, needed))  # pages appear only as bytes arrive
            larger[:have] = view[self._start : self._end]
            self._view = larger
        self._start, self._end = 0, have

    def _reset_block(self) -> None:
        self._start = self._end = 0
        if len(self._view) > _KEPT_BLOCK:
            self._view = memoryview(bytearray(_BLOCK))

    # ---- responses out ------------------------------------------------------------------------------------------------

    def _answer(self, result: list[Buffer] | Deferred[list[Buffer] | None] | None) -> None:
        if result is None:
            return
        if isinstance(result, list):
            if not self._waiting:
                self._out += result
            else:
                slot = _Slot()
                slot.done, slot.pieces = True, result
                self._waiting.append(slot)
            return
        slot = _Slot()
        self._waiting.append(slot)
        if len(self._waiting) >= _MAX_WAITING:
            self._pause_reading()
        result.then(lambda deferred: self._arrived(slot, deferred))

    def _arrived(self, slot: _Slot, deferred: Deferred[list[Buffer] | None]) -> None:
        slot.done = True
        try:
            slot.pieces = deferred.value
        except dispatch.CloseConnection as error:
            self.close(str(error))
            return
        except Exception:
            log.exception("A waiting request from %s:%d failed in a way we did not foresee", self.host, self.port)
            self.close("its request could not be answered (the error stands above)")
            return
        waiting = self._waiting
        while waiting and waiting[0].done:
            pieces = waiting.popleft().pieces
            if pieces is not None:
                self._out += pieces
        if not self._in_turn:
            self._flush()
            if self._finishing and not waiting:
                self.close()
            elif self._reading_paused and len(waiting) < _MAX_WAITING:
                self._resume()

    def _flush(self) -> None:
        out = self._out
        if not out or self._transport is None:
            return
        self._out = []
        if len(out) == 1:
            self._transport.write(out[0])
        elif sum(map(len, out)) < _JOIN_BELOW:
            self._transport.write(b"".join(out))
        else:
            self._transport.writelines(out)

    # ---- flow ------------------------------------------------------------------------------------------------------------

    def _hold(self, until: Deferred[None]) -> None:
        """Take up no frame before ``until`` is done; the first is the one that was to be handled now."""
        self._held = True
        self._pause_reading()
        until.then(self._let_go)

    def _let_go(self, _: Deferred[None]) -> None:
        self._held = False
        self._resume()

    def _pause_reading(self) -> None:
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        """Go on reading once the client takes its responses again; frames that lie in the block come first."""
        may_read = not (self._write_paused or self._held or self._finishing) and len(self._waiting) < _MAX_WAITING
        if self._reading_paused and may_read:
            self._reading_paused = False
            self._turn()
            if not self._reading_paused and self._transport is not None:
                self._transport.resume_reading()

    def finish(self) -> None:
        """Take up no more requests, and end the connection when those taken up are answered."""
        self._finishing = True
        self._pause_reading()
        if not self._waiting:
            self.close()

    def cut(self) -> None:
        """End the connection at once; what was not sent yet is lost."""
        self._transport = None
        if self._socket is not None:
            self._socket.abort()

    def close(self, reason: str | None = None) -> None:
        """End the connection; with a reason, say so in one log line."""
        if self._transport is None:
            return
        if reason is not None:
            log.warning(
                "Closed the connection from %s:%d on listener %s: %s", self.host, self.port, self.listener, reason
            )
        transport, self._transport = self._transport, None
        transport.close()
