"""Requests of clients that the controller answers, which is another process: they go there in Envelopes (KIP-590), with the client's principal
and address, and it does what it would do for the client itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeVar

from pykbroker.brokers.joined_controller import altering, altering_errors
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.internal.default_principal_data import DefaultPrincipalData
from pykbroker.wire.message import Message
from pykbroker.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse

if TYPE_CHECKING:
    from pykbroker.brokers.joined_controller import JoinedController
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.security.context import RequestContext

R = TypeVar("R", bound=Message)

_SIZE = 4
_PRINCIPAL_VERSION = 0


class Forwarding:
    """See the module."""

    def __init__(
        self, controller: JoinedController, versions: Callable[[], Mapping[int, tuple[int, int]] | None]
    ) -> None:
        """``versions`` are those that the controllers and this broker know; None while no controller is known."""
        self._controller = controller
        self.versions = versions

    def forward(self, ctx: RequestContext, request: Message, response: type[R], version: int) -> Deferred[R]:
        """The controller's answer to a client's request. Fails with REQUEST_TIMED_OUT if there is none, and with UNKNOWN_SERVER_ERROR if this
        broker may not forward, as it is then in Apache Kafka.
        """
        key = request.API_KEY
        frame = FrameWriter()
        encode_request_header(frame, RequestHeader(key, version, ctx.correlation_id, ctx.client_id))
        request.encode(frame, version)
        envelope = EnvelopeRequest(b"".join(frame.finish())[_SIZE:], _principal(ctx), _host(ctx.client_host))

        def opened(done: Deferred[EnvelopeResponse]) -> R:
            if done.error is not None:
                raise _refused(done.error)
            content = bytes(done.value.response_data or b"")
            try:
                _, position = decode_response_header(content, 0, key, version)
                return response.decode(content, position, version)[0]  # type: ignore[return-value]
            except WireError as error:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller's answer is none: {error}") from error

        return self._controller.ask(envelope, EnvelopeResponse).fold(opened)

    def of(self, ctx: RequestContext) -> ClientsController:
        """The controller, as this client asks it."""
        return ClientsController(self, ctx)


class ClientsController:
    """The part of ``ControllerPort`` by which handlers ask for what remains when this broker has done its part of a request."""

    def __init__(self, forwarding: Forwarding, ctx: RequestContext) -> None:
        self._forwarding = forwarding
        self._ctx = ctx

    def alter_configs(
        self, alterations: Sequence[Alteration], /, *, broker_id: int, validate_only: bool = False
    ) -> Deferred[list[KafkaError | None]]:
        """See ``ControllerPort``."""
        del broker_id
        request, response, version = altering(alterations, validate_only=validate_only)
        return self._forwarding.forward(self._ctx, request, response, version).map(
            partial(altering_errors, alterations)
        )


def _principal(ctx: RequestContext) -> bytes:
    kind, _, name = ctx.principal.partition(":")
    by_token = ctx.connection is not None and ctx.connection.by_token
    out = bytearray(_PRINCIPAL_VERSION.to_bytes(2, "big"))
    DefaultPrincipalData(kind, name, token_authenticated=by_token).encode(out, _PRINCIPAL_VERSION)
    return bytes(out)


def _host(host: str) -> bytes:
    return ip_address(host.partition("%")[0]).packed


def _refused(error: BaseException) -> KafkaError:
    if not isinstance(error, KafkaError):
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
    if error.code is ErrorCode.NETWORK_EXCEPTION:
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, error.message)
    return KafkaError(
        ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller refuses what this broker forwards: {error.message}"
    )
