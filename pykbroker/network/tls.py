"""TLS between a socket and a connection: a protocol to the socket, a transport to the connection.

OpenSSL works on memory (``ssl.MemoryBIO``), so bytes are received into the block that all connections share, as without
TLS, and an idle connection has no receive buffer. A handshake costs as much as dozens of requests, so handshakes wait in a
queue that gets a little of each turn of the loop; other connections are served meanwhile, however many connect at once.
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

#: Seconds of one turn of the loop that handshakes may take.
_HANDSHAKES_S = 0.002
#: Bytes that may wait for a handshake; the largest part of one is a certificate chain.
_MOST_IN_HANDSHAKE = 256 * 1024
_HANDSHAKE_RECORD = 0x16


class Handshakes:
    """The queue of handshakes whose next step is due, in order of arrival."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._queue: deque[TlsLayer] = deque()

    def add(self, layer: TlsLayer) -> None:
        """Append a handshake that has received bytes."""
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
    """See the module. ``opened`` is called with the TLS object after the handshake and sets the connection's principal. It may
    raise UnreadableName or NoRuleApplies, which fail the handshake.
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
                "it does not use TLS, but this listener requires it: its client needs security.protocol=SSL, or SASL_SSL, "
                "or the port of another listener"
            )
        elif self._incoming.pending > _MOST_IN_HANDSHAKE:
            self._inner.close(f"it sent more than {_MOST_IN_HANDSHAKE} bytes without finishing its TLS handshake")
        elif not self._queued:
            self._queued = True
            self._handshakes.add(self)

    def shake_hands(self) -> None:
        """Take the next step with the bytes received so far."""
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
            self._send_on()  # the alert with the reason
            self._inner.close(f"its TLS handshake failed: {_words(error)}")
            return
        except Exception:  # must not stop the queue
            log.exception("Unhandled error in a TLS handshake")
            self._inner.close("its TLS handshake could not be finished (see the error above)")
            return
        self._open = True
        self._send_on()
        self._decrypt()

    # ---- records in ---------------------------------------------------------------------------------------------------

    def _decrypt(self) -> None:
        """Pass complete TLS records to the connection as long as it reads."""
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
            self._inner.close(f"it sent an invalid TLS record: {_words(error)}")
        if self._outgoing.pending:
            self._send_on()

    # ---- the connection's side: the methods of a transport -------------------------------------------------------------

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
                self._inner.broker.runtime.wake_queue.add(self._decrypt)

    def get_write_buffer_size(self) -> int:
        return 0 if self._socket is None else self._socket.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._socket is None else self._socket.get_extra_info(name, default)

    def close(self) -> None:
        """Send close_notify, then close."""
        if self._closing:
            return
        self._closing = True
        if self._socket is not None:
            if self._open:
                with contextlib.suppress(ssl.SSLError):  # raised since the peer's close_notify is not awaited
                    self._tls.unwrap()
                self._send_on()
            self._socket.close()

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        if self._socket is not None:
            self._socket.abort()


def _words(error: Exception) -> str:
    """OpenSSL's reason, with its usual cause."""
    if not isinstance(error, ssl.SSLError):
        return str(error)
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    return reason + _MEANINGS.get(error.reason or "", "")


_MEANINGS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": " (ssl.client.auth=required, and the client has no key store, or none that fits)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": " (the client does not trust this broker's certificate, or the host name differs)",
    "TLSV1_ALERT_UNKNOWN_CA": " (the client's trust store lacks the authority of this broker's certificate)",
    "SSLV3_ALERT_BAD_CERTIFICATE": " (the client rejects this broker's certificate)",
    "UNSUPPORTED_PROTOCOL": " (the client's TLS is older than ssl.enabled.protocols allows)",
    "WEAKER_CIPHER_THAN_CHOSEN": " (it has none as strong as those of ssl.cipher.suites)",
    "NO_SHARED_CIPHER": " (client and broker have no cipher in common)",
    "HTTP_REQUEST": " (an HTTP request without TLS)",
}
