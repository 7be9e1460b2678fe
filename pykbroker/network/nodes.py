"""Connections to other nodes, controllers and brokers: one for each address, opened when something is asked there.

Several requests may be on their way; answers come in their order. What a node does not answer in time is lost with the connection, and
so is what is behind it: the next request opens another one. Behind a request that was abandoned, as a fetch that waits there for records, nothing
is asked: there is a second connection for that.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pykbroker.network.handshake import Agreed, NodeCall, handshake
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pykbroker.quorum.observer import Address
    from pykbroker.security.client.settings import ClientSecurity

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)

#: As much as is read of a node before it has proved who it is, and afterwards.
_LARGEST_AT_FIRST, _LARGEST = 512 * 1024, 256 * 1024 * 1024
#: The part of a session after which another connection is opened, well before the node closes this one.
_PART_OF_SESSION = 0.8
#: The most connections to a node.
_MOST = 2


class NodeConnections:
    """See the module, and ``quorum.observing.Nodes``. ``security`` is asked for that of each connection, by the listener that it goes to; None is
    PLAINTEXT.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        client_id: str,
        security: Callable[[], ClientSecurity | None] = lambda: None,
    ) -> None:
        self._loop = loop
        self._client_id = client_id
        self._security = security
        self._connections: dict[Address, list[_NodeConnection]] = {}

    def ask(
        self, address: Address, request: Message, response: type[R], limit_ms: float, lowest: int = 0
    ) -> Deferred[R]:
        """See ``Nodes.ask``."""
        there = self._connections[address] = [each for each in self._connections.get(address, ()) if each.usable]
        free = [each for each in there if not each.is_held_up]
        if not free and len(there) < _MOST:
            free = [_NodeConnection(self._loop, address, self._client_id, self._security())]
            there += free
        return (free or there)[0].ask(request, response, limit_ms, lowest)

    def versions_at(self, address: Address | None) -> Mapping[int, tuple[int, int]] | None:
        """The versions of each API that this broker and a node know; None before they have spoken."""
        agreed = [] if address is None else [each.agreed for each in self._connections.get(address, ())]
        return next((each.versions for each in agreed if each is not None), None)

    def leave_others(self, address: Address) -> None:
        """Close the connections to other nodes than this one, which is asked in their place; what they have not answered fails."""
        for other in [each for each in self._connections if each != address]:
            for connection in self._connections.pop(other):
                connection.fail(f"{address} takes its place")

    def close(self) -> None:
        """Close all connections; what is not answered fails."""
        for there in self._connections.values():
            for connection in there:
                connection.fail("it is no longer needed")
        self._connections.clear()


class _Sent(NamedTuple):
    """A request that waits for the connection, with the lowest version that will do, or for its answer."""

    request: Message
    response: type[Message]
    lowest: int
    answer: Deferred[Any]
    timer: asyncio.TimerHandle


class _NodeConnection(asyncio.Protocol):
    """One connection. What is asked before it is agreed on waits."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: Address,
        client_id: str,
        security: ClientSecurity | None,
    ) -> None:
        self._loop = loop
        self._address = address
        self._client_id = client_id
        self._handshake = handshake(address.host, None if security is None else security.sasl)
        self.agreed: Agreed | None = None
        self._renew_at: float | None = None
        self._failed = False
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._correlation_id = 0
        self._waiting: list[_Sent] = []
        #: What takes the next answers, with the call that each is for.
        self._expected: list[tuple[int, NodeCall, Callable[[Message], None]]] = []
        self._unanswered: list[_Sent] = []
        #: Those of them that were abandoned.
        self._abandoned: list[_Sent] = []
        tls = None if security is None else security.tls
        name = None if tls is None else address.host
        opening = loop.create_connection(lambda: self, address.host, address.port, ssl=tls, server_hostname=name)
        self._opening = loop.create_task(opening)
        self._opening.add_done_callback(self._opened)

    @property
    def usable(self) -> bool:
        """Whether more can be asked: it is not closed, and its session is not almost over."""
        return not self._failed and (
            self._renew_at is None or bool(self._unanswered) or self._loop.time() < self._renew_at
        )

    @property
    def is_held_up(self) -> bool:
        """Whether what is asked now waits for an answer that nobody needs."""
        return bool(self._abandoned)

    def ask(self, request: Message, response: type[R], limit_ms: float, lowest: int) -> Deferred[R]:
        answer: Deferred[R] = Deferred()
        timer = self._loop.call_later(limit_ms / 1000, self.fail, f"it did not answer within {limit_ms:g} ms")
        sent = _Sent(request, response, lowest, answer, timer)
        self._unanswered.append(sent)
        answer.when_abandoned = partial(self._abandoned.append, sent)
        if self.agreed is None:
            self._waiting.append(sent)
        else:
            self._send_request(sent, self.agreed)
        return answer

    def fail(self, why: str) -> None:
        """Close the connection; all that is not answered fails. Harmless when repeated."""
        if self._failed:
            return
        self._failed = True
        self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()
        error = KafkaError(ErrorCode.NETWORK_EXCEPTION, f"{self._address} is not reached: {why}")
        sent, self._unanswered = self._unanswered, []
        for each in sent:
            each.timer.cancel()
            each.answer.fail(error)

    # -- the socket ---------------------------------------------------------------------------------------------------

    def _opened(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.fail(str(task.exception()))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is of no class of asyncio
        if self._failed:
            self._transport.abort()
        else:
            self._advance(lambda: next(self._handshake))

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(str(exc or "it closed the connection"))

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        largest = _LARGEST_AT_FIRST if self.agreed is None else _LARGEST
        while len(received) >= 4 and not self._failed:
            size = int.from_bytes(received[:4], "big")
            if size > largest:
                self.fail("it does not speak Kafka's protocol, or wants TLS or SASL")
                return
            if len(received) < 4 + size:
                return
            frame = bytes(received[4 : 4 + size])
            del received[: 4 + size]
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        if not self._expected:
            self.fail("it answers what was not asked")
            return
        correlation_id, call, then = self._expected.pop(0)
        try:
            message = call.decode(frame, correlation_id)
        except (WireError, KafkaError) as error:
            self.fail(f"it sent what is no answer: {error}")
            return
        then(message)

    def _send(self, call: NodeCall, then: Callable[[Message], None]) -> None:
        assert self._transport is not None
        self._correlation_id += 1
        key = call.request.API_KEY
        frame = FrameWriter()
        encode_request_header(frame, RequestHeader(key, call.version, self._correlation_id, self._client_id))
        call.request.encode(frame, call.version)
        self._expected.append((self._correlation_id, call, then))
        self._transport.write(b"".join(frame.finish()))

    # -- requests -----------------------------------------------------------------------------------------------------

    def _advance(self, step: Callable[[], NodeCall]) -> None:
        """Go on with the handshake, up to its next request, or to its end."""
        try:
            call = step()
        except StopIteration as end:
            self._agree(end.value)
        except KafkaError as error:
            self.fail(error.message)
        else:
            self._send(call, lambda answer: self._advance(partial(self._handshake.send, answer)))

    def _agree(self, agreed: Agreed) -> None:
        self.agreed = agreed
        if agreed.session_ms:
            self._renew_at = self._loop.time() + _PART_OF_SESSION * agreed.session_ms / 1000
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self._send_request(each, agreed)

    def _send_request(self, sent: _Sent, agreed: Agreed) -> None:
        try:
            version = agreed.version(sent.request.API_KEY, sent.lowest)
        except KafkaError as error:
            self._settle(sent)
            sent.answer.fail(KafkaError(error.code, f"{self._address}: {error.message}"))
            return

        def answered(message: Message) -> None:
            self._settle(sent)
            sent.answer.complete(message)

        self._send(NodeCall(sent.request, sent.response, version), answered)

    def _settle(self, sent: _Sent) -> None:
        sent.timer.cancel()
        self._unanswered.remove(sent)
        if sent in self._abandoned:
            self._abandoned.remove(sent)
