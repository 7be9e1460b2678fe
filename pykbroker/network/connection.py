"""One client connection: frames in, responses out, in the order of the requests.

Bytes are received into a block that all connections share and are parsed in place. The beginning of an incomplete frame
moves to a block of the connection's own, which it keeps while it is busy and the block not too large, because a client that
sends one such frame sends more. So an idle connection costs a few kilobytes. Handlers get slices of the block and must copy
what they keep beyond the call (wire's decoders copy everything except records).

A client that does not take its responses is not read from until it has: they wait here in memory, except for records
that lie in files, which are read as the client takes them (``streaming.py``).
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.network.claim import Claim
from pykbroker.network.outgoing import Outgoing
from pykbroker.network.pending_responses import PendingResponse, PendingResponses
from pykbroker.network.receive_block import ReceiveBlock
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # for readers; exists from Python 3.12

    from pykbroker.brokers.broker import Broker
    from pykbroker.requests.authentication import Answering
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.timers import Timer
    from pykbroker.security.context import Peer, TimeSpent

log = logging.getLogger(__name__)

#: Bytes of responses that are written at once, although the turn has more requests to answer.
_FLUSH_AT = 256 * 1024
#: Seconds for which one connection may keep the loop busy with requests that it has already sent.
_TURN_S = 0.01

_SIZE = struct.Struct(">i")
#: How a frame of ListOffsets begins, whose answer tells of the moment. It is worked out when all before it on the connection is answered,
#: as in Apache Kafka: a consumer that sends it behind a Fetch would else take an end from before that Fetch's records for the present one.
_LIST_OFFSETS = struct.pack(">h", ApiKey.LIST_OFFSETS)


def _discard(broker: Broker, peer: Peer, frame: memoryview) -> None:
    """Takes the place of the dispatcher once a connection has ended; no frame arrives any more."""


class Connection(asyncio.BufferedProtocol):
    """The protocol of one accepted socket. ``on_close`` is called when the connection has ended."""

    # CPython shares the keys of instances with up to 30 attributes: with more, each access costs more, in each request.
    __slots__ = (
        "__weakref__",
        "_claim",
        "_counted",
        "_dispatch",
        "_finishing",
        "_holds",
        "_in_turn",
        "_is_cut",
        "_max_frame",
        "_max_frame_setting",
        "_muted",
        "_on_close",
        "_outgoing",
        "_pending",
        "_reading_paused",
        "_received",
        "_runtime",
        "_socket",
        "_transport",
        "_unsent",
        "authentication_timer",
        "broker",
        "by_token",
        "client_software",
        "host",
        "id",
        "is_lost",
        "last_active",
        "listener",
        "port",
        "principal",
        "time_spent",
        "when_lost",
    )

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
        self._runtime = broker.runtime
        self.listener = listener
        self.host = ""
        self.port = 0
        self.principal = "User:ANONYMOUS"
        self.by_token = False
        self.id = broker.next_connection_id()
        self.last_active = broker.runtime.clock.monotonic()
        self.client_software: tuple[str, str] = ("unknown", "unknown")
        self.time_spent: TimeSpent | None = None
        self.when_lost: dict[object, Callable[[], None]] | None = None
        self.is_lost = False
        self._max_frame = max_frame
        self._max_frame_setting = "socket.request.max.bytes"
        #: Closes a connection that does not authenticate in time; None if it has, or need not.
        self.authentication_timer: Timer | None = None
        self._on_close = on_close
        self._transport: asyncio.Transport | None = None  # until the connection is to end
        self._socket: asyncio.Transport | None = None  # until it has ended
        self._finishing = False
        self._is_cut = False
        self._received = ReceiveBlock(shared_block)
        self._pending = PendingResponses()
        self._outgoing = Outgoing(self._runtime, self._pause_reading, self._stream_ended)
        self._unsent = 0  # bytes that the socket had not taken when it was full
        self._counted = 0  # bytes of this connection in the memory budget's unsent bytes
        self._claim = Claim(self._runtime)
        self._in_turn = False
        self._reading_paused = False
        self._muted: Timer | None = None
        self._holds = 0  # reasons not to handle the next frame yet

    @property
    def local_host(self) -> str:
        """The broker's address to which the client connected; empty if there is none or the connection has ended."""
        name = None if self._socket is None else self._socket.get_extra_info("sockname")
        return name[0] if isinstance(name, tuple) else ""

    @property
    def descriptor(self) -> int | None:
        """The descriptor of its socket; None before it is connected and after its end."""
        found = None if self._socket is None else self._socket.get_extra_info("socket")
        return None if found is None else found.fileno()

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
        self.is_lost = True
        self.authenticated()
        if self._muted is not None:  # hours may be left
            self._muted.cancel()
            self._muted = None
        self._pending.abandon()
        self._outgoing.drop()
        self._received.drop()
        self._claim.drop()
        self._unsent = 0
        self._count_unsent()
        self._dispatch = _discard  # an authentication refers to its connection: no cycle may remain
        self._on_close(self)
        if self.when_lost is not None:
            told, self.when_lost = self.when_lost, None
            for tell in told.values():
                tell()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._received.view[self._received.end :]

    def pause_writing(self) -> None:
        self._pause_reading()
        self._outgoing.pause()
        if self._socket is not None:
            self._unsent = max(self._socket.get_write_buffer_size(), self._outgoing.last_slice)
            self._count_unsent()

    def resume_writing(self) -> None:
        self.last_active = self._runtime.clock.monotonic()
        self._unsent = 0
        self._count_unsent()
        self._outgoing.resume()
        self._resume()

    # ---- authentication -----------------------------------------------------------------------------------------------

    def answer_by(self, answer: Answering, max_frame: int, max_frame_setting: str = "socket.request.max.bytes") -> None:
        """Pass frames to ``answer`` from the next turn on; those of this turn still go where they went before.

        ``max_frame_setting`` is the setting that limits a frame to ``max_frame`` bytes, for the log.
        """
        self._dispatch = answer
        self._max_frame = max_frame
        self._max_frame_setting = max_frame_setting

    def authenticated(self) -> None:
        """Stop the timer: the client has authenticated in time."""
        if self.authentication_timer is not None:
            self.authentication_timer.cancel()
            self.authentication_timer = None

    # ---- frames in --------------------------------------------------------------------------------------------------

    def buffer_updated(self, nbytes: int) -> None:
        """The turn of the connection: handle every complete frame that has arrived, then send the responses in one write."""
        self._received.end += nbytes
        self._in_turn, alone = True, None
        runtime = self._runtime
        now = self.last_active = runtime.clock.monotonic()
        if not runtime.turns.running:
            runtime.turns.began(now)
        try:
            if runtime.timers.next_due <= now:  # what is due came before what arrived now
                runtime.timers.run_due()
            alone = self._handle_frames()
        except CloseConnection as error:
            self._close_for(error, first=not self._pending.queue)
        except Exception:
            log.exception("Unhandled error in a request from %s:%d", self.host, self.port)
            self.close("its request could not be answered (see the error above)")
        finally:
            self._in_turn = False
        if alone is None:
            self._outgoing.flush(self._transport)
        elif self._transport is not None:
            self._transport.write(alone)  # ``Outgoing.flush``, in place
        if self.time_spent is not None:
            self.time_spent.turn_over(now)

    def _handle_frames(self) -> Buffer | None:
        """Handle them, and return the answer to the last one if no other is to be written, as is usual; the others are in ``_outgoing``."""
        received, outgoing, dispatch, alone = self._received, self._outgoing, self._dispatch, None
        view, start, end = received.view, received.start, received.end
        while end - start >= 4 and not self._reading_paused and self._transport is not None:
            size = _SIZE.unpack_from(view, start)[0]
            if not 0 <= size <= self._max_frame:
                raise CloseConnection(self._refused_frame(view[start : start + 4]))
            frame_end = start + 4 + size
            if frame_end > end:
                self._keep(start, 4 + size)
                return None
            if self._pending.queue and view[start + 4 : start + 6] == _LIST_OFFSETS:
                self._keep(start, 4 + size)
                self.hold(self._pending.last_wait)
                return None
            try:
                answer = dispatch(self.broker, self, view[start + 4 : frame_end])
            except NotYet as error:
                self._keep(start, 4 + size)
                self.hold(error.until)
                return None
            if type(answer) is not list or self._pending.queue:
                if answer is not None:
                    self._answer(answer)
            elif frame_end == end and len(answer) == 1 and not outgoing.size:
                alone = answer[0]
            else:
                outgoing.add(answer)
            start = frame_end
            if start == end:  # the usual case
                break
            self._between_frames()
        if start != end:
            self._keep(start, 4)
            return None
        if view is received.shared:
            received.end = 0  # ``emptied``, in place: most connections have no block of their own
        else:
            received.emptied()
        if self._claim.size:
            self._claim.settle(received)
        return alone

    def _keep(self, start: int, needed: int) -> None:
        """Keep what is not parsed in a block of the connection's own, which must be granted before more is received."""
        self._received.keep(start, needed)
        wait = self._claim.cover(self._received)
        if wait is not None:
            self.hold(wait)

    def _between_frames(self) -> None:
        """Send many responses, and do what is due, before the next frame of the same turn."""
        if self._outgoing.size >= _FLUSH_AT:
            self._outgoing.flush(self._transport)
        if not self._reading_paused:
            now = self._runtime.clock.monotonic()
            if now >= self.last_active + _TURN_S:
                self._yield_turn()
            elif self._runtime.timers.next_due <= now:
                self._runtime.timers.run_due()

    def _refused_frame(self, prefix: memoryview) -> str:
        from pykbroker.network.refused_frames import explain

        return explain(bytes(prefix), self._max_frame, self._max_frame_setting)

    # ---- responses out ------------------------------------------------------------------------------------------------

    def _answer(self, result: list[Buffer] | Deferred[list[Buffer] | None]) -> None:
        """Send an answer that is waited for, or that is behind such a one."""
        pending = self._pending
        response = pending.add()
        if isinstance(result, list):
            pending.fill(response, result)
            self._count_unsent()
        else:
            response.deferred = result
            result.when_done(lambda deferred: self._arrived(response, deferred))
            if self._runtime.memory.is_short and not result.done:
                self.hold(result.settled())  # one request at a time, as in Apache Kafka: its bytes may be kept
        if pending.is_full:
            self._pause_reading()

    def _arrived(self, response: PendingResponse, deferred: Deferred[list[Buffer] | None]) -> None:
        pending = self._pending
        if deferred.error is not None:
            self._failed(deferred.error, first=pending.is_first(response))
            return
        if self._transport is None:
            return
        ready = pending.fill(response, deferred.result)
        if ready:
            self._outgoing.add(ready)
        if pending.held_bytes + self._unsent != self._counted:
            self._count_unsent()
        if not self._in_turn:
            self._outgoing.flush(self._transport)
            if self.time_spent is not None:
                self.time_spent.written()
            if self._finishing and not pending.queue:
                self.close()
            elif self._reading_paused:
                self._resume()

    def _failed(self, error: BaseException, *, first: bool) -> None:
        """A waiting request failed; ``first`` says that no earlier response is still due."""
        if isinstance(error, CloseConnection):
            self._close_for(error, first=first)
        else:
            log.error("Unhandled error in a waiting request from %s:%d", self.host, self.port, exc_info=error)
            self.close("its request could not be answered (see the error above)")

    def _stream_ended(self, error: Exception | None) -> None:
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

    # ---- flow control ----------------------------------------------------------------------------------------------------

    def hold(self, until: Deferred[Any]) -> None:
        """Handle no frame before ``until`` is done: for a request that cannot be handled yet, which is the next one then, or
        that is worked on in slices.
        """
        self._holds += 1
        self._pause_reading()
        until.when_done(lambda _: self._release_hold())

    def _yield_turn(self) -> None:
        """Handle no frame before other connections have had their turn."""
        self._holds += 1
        self._pause_reading()
        self._runtime.wake_queue.add(self._release_hold)

    def mute(self, ms: float) -> None:
        """Handle no frame for ``ms`` milliseconds, as Kafka throttles a client; responses are sent meanwhile."""
        if self._transport is None:
            return
        timer = self._runtime.client_timers.after(ms, self._unmute)
        if self._muted is None:
            self._holds += 1
            self._pause_reading()
            self._muted = timer
        else:
            earlier, self._muted = sorted((self._muted, timer))
            earlier.cancel()

    def _unmute(self) -> None:
        self._muted = None
        self._release_hold()

    def _release_hold(self) -> None:
        self._holds -= 1
        self._resume()

    def _pause_reading(self) -> None:
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        """Read again unless something still forbids it; frames that are already in the block come first."""
        may_read = not (self._outgoing.is_blocked or self._holds or self._finishing or self._pending.is_full)
        if self._reading_paused and may_read:
            self._reading_paused = False
            self.buffer_updated(0)
            if not self._reading_paused and self._transport is not None:
                self._transport.resume_reading()

    def _count_unsent(self) -> None:
        """Add to the memory budget's unsent bytes what changed: responses behind an earlier one, and for a socket that is full."""
        unsent = self._pending.held_bytes + self._unsent
        self._runtime.memory.unsent.count(unsent - self._counted)
        self._counted = unsent

    @property
    def is_sending(self) -> bool:
        """Whether the client has not taken all its responses."""
        return self._outgoing.is_streaming or (self._socket is not None and self._socket.get_write_buffer_size() > 0)

    def release_memory(self) -> None:
        """Give back the receive block of a connection that is idle."""
        self._received.let_go()
        if self._claim.size:
            self._claim.settle(self._received)

    def is_stalled(self, since: float) -> bool:
        """Whether a frame has been granted memory before ``since`` (monotonic) and has not arrived as a whole."""
        return self._claim.granted_before(since) and not self._received.is_empty

    # ---- the end -----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Handle no more requests, and close the connection once those in flight are answered."""
        self._finishing = True
        self._pause_reading()
        if not self._pending.queue:
            self.close()

    def cut(self) -> None:
        """End the connection at once; unsent responses are lost."""
        self._transport = None
        self._is_cut = True
        if self._socket is not None:
            self._socket.abort()

    def _close_for(self, error: CloseConnection, *, first: bool) -> None:
        """Close; the error's last words are sent only if no earlier response is still due."""
        if error.last_words and first and self._transport is not None:
            self._outgoing.add([error.last_words])
        self.close(str(error))

    def close(self, reason: str | None = None) -> None:
        """Close the connection once the responses so far are sent; a reason is logged."""
        if self._transport is None:
            self._is_cut = self._is_cut or self._socket is None  # its socket may be about to come
            return
        if reason is not None:
            log.warning("Connection from %s:%d on listener %s closed: %s", self.host, self.port, self.listener, reason)
        self._outgoing.flush(self._transport)
        transport, self._transport = self._transport, None
        if not self._outgoing.is_streaming:
            transport.close()
