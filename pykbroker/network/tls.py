"""TLS between a socket and a connection: to the socket it is the protocol, to the connection the transport.

OpenSSL works on two blocks of memory (``ssl.MemoryBIO``), so bytes are received into one block that all connections share, as
without TLS, and an idle connection keeps none of its own. A handshake costs as much as dozens of requests; so each has its turn in a
queue that uses a little of every turn of the loop, and others go on meanwhile, however many connect at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from pykbroker.security.distinguished_names import UnreadableName
from pykbroker.security.principals import NoRuleApplies

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # a name for people; Python 3.12 has it

    from pykbroker.network.connection import Connection
    from pykbroker.runtime.runtime import Runtime

log = logging.getLogger(__name__)

#: How long handshakes may keep one turn of the loop.
_HANDSHAKES_S = 0.002
#: What may lie here of a client that has not finished its handshake: its largest part is a chain of certificates.
_MOST_UNPROVED = 256 * 1024
_HANDSHAKE_RECORD = 0x16


class Handshakes:
    """Those that have their next step to do, in the order in which they came."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._queue: deque[TlsLayer] = deque()

    def add(self, layer: TlsLayer) -> None:
        """Let it have its turn."""
        if not self._queue:
            self.runtime.wake_queue.add(self._go_on)
        self._queue.append(layer)

    def _go_on(self) -> None:
        monotonic = self.runtime.clock.monotonic
        ends = monotonic() + _HANDSHAKES_S
        while self._queue:
            self._queue.popleft().shake_hands()
            if monotonic() >= ends:
                break
        if self._queue:
            self.runtime.wake_queue.add(self._go_on)


class TlsLayer(asyncio.BufferedProtocol):
    """See the module. ``opened`` is called with the TLS object once the handshake is over, and says whose connection it is; it
    may raise what says that it is nobody's.
    """

    def __init__(
        self,
        inner: Connection,
        context: ssl.SSLContext,
        block: memoryview,
        handshakes: Handshakes,
        opened: Callable[[ssl.SSLObject], None],
    ) -> None:
        self._inner = inner
        self._block = block
        self._handshakes = handshakes
        self._opened = opened
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._socket: asyncio.Transport | None = None
        self._open = False
        self._queued = False
        self._paused = False
        self._closing = False
        self._first_byte: int | None = None

    # ---- the socket's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast("asyncio.Transport", transport)
        self._inner.connection_made(cast("asyncio.Transport", self))

    def connection_lost(self, exc: Exception | None) -> None:
        self._socket = None
        self._closing = True
        self._inner.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._block

    def buffer_updated(self, nbytes: int) -> None:
        if self._first_byte is None:
            self._first_byte = self._block[0]
        self._incoming.write(self._block[:nbytes])
        if self._open:
            self._decrypt()
        elif not self._closing:
            self._handshake_goes_on()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    # ---- the handshake ------------------------------------------------------------------------------------------------

    def _handshake_goes_on(self) -> None:
        if self._first_byte != _HANDSHAKE_RECORD:
            self._inner.close(
                "it speaks without TLS, and this listener is for TLS: its client needs security.protocol=SSL, or SASL_SSL, "
                "or the port of another listener"
            )
        elif self._incoming.pending > _MOST_UNPROVED:
            self._inner.close("it sent more than a TLS handshake takes")
        elif not self._queued:
            self._queued = True
            self._handshakes.add(self)

    def shake_hands(self) -> None:
        """Take the next step, with all that was received."""
        self._queued = False
        if self._closing:
            return
        try:
            self._tls.do_handshake()
            self._opened(self._tls)
        except ssl.SSLWantReadError:
            self._send_on()
            return
        except (ssl.SSLError, UnreadableName, NoRuleApplies) as error:
            self._send_on()  # the alert that tells the client why
            self._inner.close(f"its TLS handshake failed: {_words(error)}")
            return
        except Exception:  # those behind it in the queue have their turn all the same
            log.exception("Unhandled error in a TLS handshake")
            self._inner.close("its TLS handshake could not be finished (the error stands above)")
            return
        self._open = True
        self._send_on()
        self._decrypt()

    # ---- records in ---------------------------------------------------------------------------------------------------

    def _decrypt(self) -> None:
        """Hand on what was received whole, as long as the connection takes it."""
        inner, incoming, tls = self._inner, self._incoming, self._tls
        try:
            while (incoming.pending or tls.pending()) and not self._paused and not self._closing:
                view = inner.get_buffer(-1)
                got, room = 0, len(view)
                try:
                    while got < room and (incoming.pending or tls.pending()):
                        read = tls.read(room - got, cast("bytearray", view[got:]))
                        if not read:
                            raise ssl.SSLZeroReturnError
                        got += cast("int", read)
                except ssl.SSLWantReadError:
                    pass
                finally:
                    if got:
                        inner.buffer_updated(got)
                if not got:
                    break
        except ssl.SSLZeroReturnError:
            self._inner.close()  # the peer sent close_notify
        except ssl.SSLError as error:
            self._inner.close(f"its TLS is broken: {_words(error)}")
        if self._outgoing.pending:
            self._send_on()

    # ---- the connection's side: what it needs of a transport -----------------------------------------------------------

    def write(self, data: Buffer) -> None:
        if self._socket is not None and not self._closing:
            self._encrypt(data)
            self._send_on()

    def writelines(self, pieces: Iterable[Buffer]) -> None:
        if self._socket is not None and not self._closing:
            for piece in pieces:
                self._encrypt(piece)
            self._send_on()

    def _encrypt(self, data: Buffer) -> None:
        size = len(data)
        written = self._tls.write(data) if size else 0
        if written < size:  # a record holds 16 KiB
            view = memoryview(data)
            while written < size:
                written += self._tls.write(view[written:])

    def _send_on(self) -> None:
        if self._socket is not None and self._outgoing.pending:
            self._socket.write(self._outgoing.read())

    def pause_reading(self) -> None:
        self._paused = True
        if self._socket is not None and not self._closing:
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if self._socket is not None and not self._closing:
            self._socket.resume_reading()
            if self._open and (self._incoming.pending or self._tls.pending()):
                self._inner.broker.cluster.runtime.wake_queue.add(self._decrypt)

    def get_write_buffer_size(self) -> int:
        return 0 if self._socket is None else self._socket.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._socket is None else self._socket.get_extra_info(name, default)

    def close(self) -> None:
        """Say goodbye, and close once that is sent."""
        if self._closing:
            return
        self._closing = True
        if self._socket is not None:
            if self._open:
                with contextlib.suppress(
                    ssl.SSLError
                ):  # unwrap asks for the peer's close_notify, for which nobody waits
                    self._tls.unwrap()
                self._send_on()
            self._socket.close()

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        if self._socket is not None:
            self._socket.abort()


def _words(error: Exception) -> str:
    """What is wrong, and what is usually meant by it."""
    if not isinstance(error, ssl.SSLError):
        return str(error)
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    return reason + _MEANINGS.get(error.reason or "", "")


_MEANINGS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": " (ssl.client.auth=required, and the client has no key store, or none that fits)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": " (the client does not trust this broker's certificate, or its name is another)",
    "TLSV1_ALERT_UNKNOWN_CA": " (the client does not know the authority of this broker's certificate)",
    "SSLV3_ALERT_BAD_CERTIFICATE": " (the client refuses this broker's certificate)",
    "UNSUPPORTED_PROTOCOL": " (the client's TLS is older than ssl.enabled.protocols allows)",
    "NO_SHARED_CIPHER": " (client and broker have no cipher in common)",
    "HTTP_REQUEST": " (it speaks HTTP without TLS)",
}
