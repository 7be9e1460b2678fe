"""One client connection: frames in, responses out, in the order of the requests.

Bytes are received into a block that all connections share, and parsed where they lie; what stays behind, the beginning
of a frame, moves to a block of the connection's own. That it keeps while it is busy and the block of reasonable size,
because a client that sends one such frame sends more. So an idle connection costs a few kilobytes. A handler sees slices
of the block, so whatever it keeps beyond its call it must copy (wire's decoders copy all but records).

A client that asks for more than it takes is not read from until it has taken that: its answers wait here, in memory,
but for records that lie in files, which are read as it takes them (streaming.py).
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.network.receive_block import ReceiveBlock
from pykbroker.network.streaming import Stream
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.stored import StoredRecords

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # a name for people; Python 3.12 has it

    from pykbroker.brokers.broker import Broker
    from pykbroker.requests.authentication import Answering
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.timers import Timer
    from pykbroker.security.context import Peer

log = logging.getLogger(__name__)

#: Responses smaller than this are joined into one write; joining larger ones costs more than it saves.
_JOIN_BELOW = 64 * 1024
#: Answers of this size together are handed to the socket, whatever else is to be answered in this turn.
_FLUSH_AT = 256 * 1024
#: Requests that may wait at once on one connection before no more of it is read,
_MAX_WAITING = 128
#: and bytes of answers that wait for an earlier one.
_MAX_HELD_BYTES = 1024 * 1024
#: How long one connection may keep the loop busy with the requests that it has sent already.
_TURN_S = 0.01

_SIZE = struct.Struct(">i")


class _Slot:
    """The place of a response that is not there yet, in the order of requests."""

    __slots__ = ("deferred", "done", "pieces", "size")

    def __init__(self) -> None:
        self.done = False
        self.deferred: Deferred[list[Buffer] | None] | None = None
        self.pieces: list[Buffer] | None = None
        self.size = 0  # of pieces that wait for an earlier answer


def _nobody(broker: Broker, peer: Peer, frame: memoryview) -> None:
    """Takes the frames of a connection that has ended, of which there are none."""


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket. ``on_close`` is told when it ends."""

    def __init__(
        self,
        broker: Broker,
        dispatcher: Dispatcher,
        listener: str,
        max_frame: int,
        shared_block: memoryview,
        on_close: Callable[[Connection], None],
    ) -> None:
        self.broker = broker
        self._dispatch: Answering = dispatcher.answer
        self._runtime = broker.cluster.runtime
        self.listener = listener
        self.host = ""
        self.port = 0
        self.principal = "User:ANONYMOUS"
        self.by_token = False
        self.id = broker.next_connection_id()
        self.last_active = broker.cluster.runtime.clock.monotonic()
        self.client_software: tuple[str, str] = ("unknown", "unknown")
        self._max_frame = max_frame
        #: What cuts a client that does not say in time who he is; None where that is known, or nobody asks.
        self.stranger: Timer | None = None
        self._on_close = on_close
        self._transport: asyncio.Transport | None = None  # until the connection is to end
        self._socket: asyncio.Transport | None = None  # until it has ended
        self._finishing = False
        self._is_cut = False
        self._received = ReceiveBlock(shared_block)
        self._waiting: deque[_Slot] = deque()
        self._out: list[Buffer] = []
        self._out_size = 0
        self._has_stored = False  # what is to be sent lies in files, in part
        self._stream: Stream | None = None  # what is being sent out of files, and all behind it
        self._held_bytes = 0  # of answers that wait for an earlier one
        self._unsent = 0  # what the socket had not taken when it was full
        self._in_turn = False
        self._write_paused = False
        self._reading_paused = False
        self._muted: Timer | None = None
        self._held = 0  # how many wait for something before the next frame is taken up

    @property
    def local_host(self) -> str:
        """The address of ours by which the client came; empty where there is none, or no connection any more."""
        name = None if self._socket is None else self._socket.get_extra_info("sockname")
        return name[0] if isinstance(name, tuple) else ""

    # ---- the transport's side -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast("asyncio.Transport", transport)
        if self._is_cut:  # since it was accepted
            self._socket.abort()
            return
        self._transport = self._socket
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.host, self.port = peer[0], peer[1]
        log.debug("Connection from %s:%d on listener %s accepted", self.host, self.port, self.listener)

    def connection_lost(self, exc: Exception | None) -> None:
        log.debug("Connection from %s:%d on listener %s ended", self.host, self.port, self.listener)
        self._transport = self._socket = None
        self.known()
        if self._muted is not None:  # hours may be left
            self._muted.cancel()
            self._muted = None
        waiting, self._waiting = self._waiting, deque()
        for slot in waiting:
            deferred, slot.deferred = slot.deferred, None  # which has a callback that has the slot and this connection
            if deferred is not None:
                deferred.abandon()
        self._out.clear()
        if self._stream is not None:
            self._stream.stop()
            self._stream = None
        self._received.drop()
        self._set_kept(0, 0)
        self._dispatch = _nobody  # what took the frames knows this connection: nothing is to hold the other
        self._on_close(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._received.view[self._received.end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._received.end += nbytes
        self._turn()

    def pause_writing(self) -> None:
        self._write_paused = True
        self._pause_reading()
        if self._stream is not None:
            self._stream.pause()
        if self._socket is not None:
            self._set_kept(self._held_bytes, self._socket.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._write_paused = False
        self.last_active = self._runtime.clock.monotonic()
        self._set_kept(self._held_bytes, 0)
        if self._stream is not None:
            self._stream.resume()
        self._resume()

    # ---- who it is ----------------------------------------------------------------------------------------------------

    def answer_by(self, answer: Answering, max_frame: int) -> None:
        """Let ``answer`` take the frames, from the next turn on; those of this turn still go to whoever took them before."""
        self._dispatch = answer
        self._max_frame = max_frame

    def known(self) -> None:
        """The client has said in time who he is."""
        if self.stranger is not None:
            self.stranger.cancel()
            self.stranger = None

    # ---- frames in --------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Take up every whole frame that has arrived, then send what was answered in one write."""
        self._in_turn = True
        runtime = self._runtime
        self.last_active = runtime.clock.monotonic()
        if not runtime.turns.running:
            runtime.turns.began(self.last_active)
        try:
            if runtime.timers.next_due <= self.last_active:  # what is due came before what arrived now
                runtime.timers.run_due()
            self._take_frames()
        except CloseConnection as error:
            self._close_for(error, first=not self._waiting)
        except Exception:
            log.exception("Unhandled error in a request from %s:%d", self.host, self.port)
            self.close("its request could not be answered (the error stands above)")
        finally:
            self._in_turn = False
        self._flush()

    def _take_frames(self) -> None:
        received, dispatch, runtime = self._received, self._dispatch, self._runtime
        monotonic, timers = runtime.clock.monotonic, runtime.timers
        view, start, end = received.view, received.start, received.end
        turn_ends = self.last_active + _TURN_S
        while end - start >= 4 and not self._reading_paused and self._transport is not None:
            size = _SIZE.unpack_from(view, start)[0]
            if not 0 <= size <= self._max_frame:
                raise CloseConnection(self._strange_size(bytes(view[start : start + 4]), size))
            frame_end = start + 4 + size
            if frame_end > end:
                received.keep(start, 4 + size)
                return
            try:
                answer = dispatch(self.broker, self, view[start + 4 : frame_end])
            except NotYet as error:
                received.keep(start, 4 + size)
                self._hold(error.until)
                return
            self._answer(answer)
            start = frame_end
            if self._out_size >= _FLUSH_AT:
                self._flush()
            if start < end and not self._reading_paused:
                now = monotonic()
                if now >= turn_ends:
                    self._let_others()
                elif timers.next_due <= now:
                    timers.run_due()
        if start == end:
            received.emptied()
        else:
            received.keep(start, 4)

    def _strange_size(self, prefix: bytes, size: int) -> str:
        if prefix[:2] == b"\x16\x03":
            return (
                "it opened with a TLS handshake, but this listener speaks plaintext: its client needs "
                "security.protocol=PLAINTEXT, or SASL_PLAINTEXT, or the port of another listener"
            )
        if prefix in (b"GET ", b"POST", b"HEAD", b"PUT "):
            return "it speaks HTTP, not Kafka's protocol"
        return f"it announced a frame of {size} bytes, and socket.request.max.bytes is {self._max_frame}"

    # ---- responses out ------------------------------------------------------------------------------------------------

    def _answer(self, result: list[Buffer] | Deferred[list[Buffer] | None] | None) -> None:
        if result is None:
            return
        if isinstance(result, list) and not self._waiting:
            self._send(result)
            return
        slot = _Slot()
        self._waiting.append(slot)
        if isinstance(result, list):
            self._fill(slot, result)
        else:
            slot.deferred = result
            result.when_done(lambda deferred: self._arrived(slot, deferred))
        if self._waits_for_too_much():
            self._pause_reading()

    def _send(self, pieces: list[Buffer]) -> None:
        """With the next flush."""
        self._out += pieces
        if len(pieces) == 1:
            self._out_size += len(pieces[0])
        else:
            self._out_size += sum(map(len, pieces))
            self._has_stored = self._has_stored or any(type(piece) is StoredRecords for piece in pieces)

    def _fill(self, slot: _Slot, pieces: list[Buffer] | None) -> None:
        slot.pieces = pieces
        slot.done = True
        if pieces is not None and slot is not self._waiting[0]:
            slot.size = sum(len(piece) for piece in pieces if type(piece) is not StoredRecords)
            self._set_kept(self._held_bytes + slot.size, self._unsent)

    def _arrived(self, slot: _Slot, deferred: Deferred[list[Buffer] | None]) -> None:
        try:
            pieces = deferred.value
        except CloseConnection as error:
            self._close_for(error, first=bool(self._waiting) and slot is self._waiting[0])  # none wait once it is lost
            return
        except Exception:
            log.exception("Unhandled error in a waiting request from %s:%d", self.host, self.port)
            self.close("its request could not be answered (the error stands above)")
            return
        if self._transport is None:
            return
        self._fill(slot, pieces)
        self._send_done()
        if not self._in_turn:
            self._flush()
            if self._finishing and not self._waiting:
                self.close()
            elif self._reading_paused:
                self._resume()

    def _send_done(self) -> None:
        """Every answer that waits for no other."""
        waiting = self._waiting
        while waiting and waiting[0].done:
            slot = waiting.popleft()
            if slot.size:
                self._set_kept(self._held_bytes - slot.size, self._unsent)
            if slot.pieces is not None:
                self._send(slot.pieces)

    def _flush(self) -> None:
        out, size = self._out, self._out_size
        if not out or self._transport is None:
            return
        self._out, self._out_size = [], 0
        if self._has_stored or self._stream is not None:
            self._has_stored = False
            self._send_stored(self._transport, out)
        elif len(out) == 1:
            self._transport.write(out[0])
        elif size < _JOIN_BELOW:
            self._transport.write(b"".join(out))
        else:
            self._transport.writelines(out)

    def _send_stored(self, transport: asyncio.Transport, pieces: list[Buffer]) -> None:
        if self._stream is None:
            self._pause_reading()
            self._stream = Stream(self._runtime, transport, self._stream_ended)
            if self._write_paused:
                self._stream.pause()
        self._stream.add(pieces)

    def _stream_ended(self, error: Exception | None) -> None:
        self._stream = None
        if error is not None:
            log.warning(
                "Connection from %s:%d closed: records of its Fetch response cannot be read from the log (%s)",
                self.host,
                self.port,
                error,
            )
            self.cut()
        elif self._transport is not None:
            self._resume()
        elif self._socket is not None:
            self._socket.close()  # the unsent bytes of ``close`` go out first

    # ---- flow ------------------------------------------------------------------------------------------------------------

    def _hold(self, until: Deferred[None]) -> None:
        """Take up no frame before ``until`` is done; the first is the one that was to be handled now."""
        self._held += 1
        self._pause_reading()
        until.when_done(lambda _: self._go_on())

    def _let_others(self) -> None:
        """Take up no frame before other connections had their turn."""
        self._held += 1
        self._pause_reading()
        self._runtime.wake_queue.add(self._go_on)

    def mute(self, ms: float) -> None:
        """Take up no frame for so many milliseconds; answers go out meanwhile."""
        if self._transport is None:
            return
        timer = self._runtime.client_timers.after(ms, self._unmute)
        if self._muted is None:
            self._held += 1
            self._pause_reading()
            self._muted = timer
        else:
            earlier, self._muted = sorted((self._muted, timer))
            earlier.cancel()

    def _unmute(self) -> None:
        self._muted = None
        self._go_on()

    def _go_on(self) -> None:
        self._held -= 1
        self._resume()

    def _waits_for_too_much(self) -> bool:
        return len(self._waiting) >= _MAX_WAITING or self._held_bytes >= _MAX_HELD_BYTES

    def _pause_reading(self) -> None:
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        """Go on reading once the client takes its responses again; frames that lie in the block come first."""
        may_read = not (
            self._write_paused
            or self._stream is not None
            or self._held
            or self._finishing
            or self._waits_for_too_much()
        )
        if self._reading_paused and may_read:
            self._reading_paused = False
            self._turn()
            if not self._reading_paused and self._transport is not None:
                self._transport.resume_reading()

    def _set_kept(self, held: int, unsent: int) -> None:
        """Bytes of answers kept in memory: behind an earlier one, and for a socket that is full."""
        self._runtime.unsent_bytes += held + unsent - self._held_bytes - self._unsent
        self._held_bytes, self._unsent = held, unsent

    @property
    def is_sending(self) -> bool:
        """Whether the client has not taken all that was answered."""
        return self._stream is not None or (self._socket is not None and self._socket.get_write_buffer_size() > 0)

    def let_memory_go(self) -> None:
        """Of a connection that is idle for now."""
        self._received.let_go()

    def finish(self) -> None:
        """Take up no more requests, and end the connection when those taken up are answered."""
        self._finishing = True
        self._pause_reading()
        if not self._waiting:
            self.close()

    def cut(self) -> None:
        """End the connection at once; what was not sent yet is lost."""
        self._transport = None
        self._is_cut = True
        if self._socket is not None:
            self._socket.abort()

    def _close_for(self, error: CloseConnection, *, first: bool) -> None:
        """Last words are sent where no answer is still to come before them."""
        if error.last_words and first and self._transport is not None:
            self._send([error.last_words])
        self.close(str(error))

    def close(self, reason: str | None = None) -> None:
        """End the connection once what was answered so far is sent; with a reason, say so in one log line."""
        if self._transport is None:
            self._is_cut = self._is_cut or self._socket is None  # its socket may be about to come
            return
        if reason is not None:
            log.warning("Connection from %s:%d on listener %s closed: %s", self.host, self.port, self.listener, reason)
        self._flush()
        transport, self._transport = self._transport, None
        if self._stream is None:
            transport.close()
