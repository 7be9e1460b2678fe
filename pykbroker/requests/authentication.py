"""Takes the place of the dispatcher until a connection is authenticated: SASL in frames (KIP-43, KIP-152, KIP-368).

A connection of a SASL listener hands its frames here, others know nothing of it. Afterwards the dispatcher takes the frames,
or a session with a limited lifetime (``sessions.py``).

A failed authentication is answered, and the connection closed, after ``connection.failed.authentication.delay.ms``; nothing
is read from it meanwhile, and other connections do not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.handlers import api_versions
from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.security.sasl.conversation import (
    AuthenticationFailed,
    Conversation,
    Former,
    State,
    Unexpected,
    UnknownMechanism,
)
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.headers import RequestHeader, begin_response, decode_request_header, encode_request_header
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.security.context import Peer
    from pykbroker.security.sasl.mechanism import Authenticated, Mechanism

#: The version of ApiVersions from which on clients may say which cluster and broker they expect.
_EXPECTS_SINCE = 5

#: What takes the frames of a connection, as ``Dispatcher.answer`` does.
Answering = Callable[["Broker", "Peer", memoryview], Any]


class Authenticating(NamedTuple):
    """The SASL settings of a listener."""

    mechanisms: Mapping[str, Mechanism]
    failed_delay_ms: int
    max_receive_size: int
    #: connections.max.reauth.ms by mechanism; 0 for no limit.
    max_reauth_ms: Mapping[str, int]


class AuthenticationResult(NamedTuple):
    """The principal, the mechanism, and the session lifetime: None for as long as the connection."""

    identity: Authenticated
    mechanism: str
    lifetime_ms: int | None


class Authentication:
    """The authentication of one connection. ``done`` is called with the outcome and returns what takes the frames next."""

    def __init__(
        self,
        settings: Authenticating,
        runtime: Runtime,
        dispatcher: Dispatcher,
        done: Callable[[AuthenticationResult], Answering],
        former: Former | None = None,
    ) -> None:
        self._settings = settings
        self._runtime = runtime
        self._dispatcher = dispatcher
        self._conversation = Conversation(settings.mechanisms, former)
        self._done = done
        #: The reason for closing, once the delay is over; no exception object, whose traceback would keep objects alive.
        self._ending: tuple[str, bytes] | None = None
        self._next: Answering | None = None

    def answer(self, broker: Broker, peer: Peer, frame: memoryview) -> Any:
        """As ``Dispatcher.answer``."""
        if self._next is not None:
            return self._next(broker, peer, frame)
        if self._ending is not None:
            raise CloseConnection(*self._ending)
        try:
            return self._answered(broker, peer, frame)
        except _Ending as ending:
            if not self._settings.failed_delay_ms:
                raise CloseConnection(str(ending), ending.last_words) from ending
            self._ending = str(ending), ending.last_words
            raise NotYet(self._runtime.client_timers.pause(self._settings.failed_delay_ms)) from ending

    def _answered(self, broker: Broker, peer: Peer, frame: memoryview) -> Any:
        conversation = self._conversation
        if conversation.state is State.RAW_TOKEN:
            return self._raw_token(bytes(frame))
        try:
            header, at = decode_request_header(frame, 0)
        except WireError as error:
            raise _malformed(error) from error
        if conversation.state is State.TOKEN:
            return self._token(peer, header, frame, at)
        if header.api_key == ApiKey.API_VERSIONS:
            return self._versions(broker, peer, header, frame, at)
        if header.api_key != ApiKey.SASL_HANDSHAKE:
            raise CloseConnection(f"it sent a request of {ApiKey(header.api_key).name} before it was authenticated")
        return self._handshake(header, frame, at)

    def _versions(self, broker: Broker, peer: Peer, header: RequestHeader, frame: memoryview, at: int) -> Any:
        try:
            served = self._dispatcher.serves(ApiKey.API_VERSIONS, header.api_version)
            good = served and api_versions.is_good(header.api_version, frame, at)
            self._conversation.versions(good=good)
            if good and header.api_version >= _EXPECTS_SINCE:
                frame = _without_expectation(header, frame, at)
        except (WireError, Unexpected) as error:
            raise CloseConnection(str(error)) from error
        return self._dispatcher.answer(broker, peer, frame)

    def _handshake(self, header: RequestHeader, frame: memoryview, at: int) -> Any:
        _check_version(header, SaslHandshakeRequest)
        try:
            request, _ = SaslHandshakeRequest.decode(frame, at, header.api_version)
        except WireError as error:
            raise _malformed(error) from error
        response = SaslHandshakeResponse(mechanisms=self._conversation.mechanisms)
        try:
            self._conversation.handshake(header.api_version, request.mechanism)
        except UnknownMechanism as error:
            response.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            raise _Ending(str(error), _encoded(header, response)) from error
        except Unexpected as error:
            raise CloseConnection(str(error)) from error
        return [_encoded(header, response)]

    def _token(self, peer: Peer, header: RequestHeader, frame: memoryview, at: int) -> Any:
        if header.api_key != ApiKey.SASL_AUTHENTICATE:
            error = KafkaError(
                ErrorCode.ILLEGAL_SASL_STATE,
                f"Unexpected Kafka request of type {ApiKey(header.api_key).name} during SASL authentication.",
            )
            raise _Ending(
                f"it sent a request of {ApiKey(header.api_key).name} before it was authenticated",
                self._dispatcher.refusal(header, frame, at, error),
            )
        _check_version(header, SaslAuthenticateRequest)
        try:
            request, _ = SaslAuthenticateRequest.decode(frame, at, header.api_version)
        except WireError as error:
            raise _malformed(error) from error
        response = SaslAuthenticateResponse()
        try:
            response.auth_bytes = self._conversation.token(bytes(request.auth_bytes)) or b""
        except AuthenticationFailed as failure:
            if failure.client_message is None:
                raise _Ending(str(failure)) from failure
            response.error_code = ErrorCode.SASL_AUTHENTICATION_FAILED
            response.error_message = failure.client_message
            raise _Ending(str(failure), _encoded(header, response)) from failure
        lifetime_ms = self._end()
        if lifetime_ms is not None:
            response.session_lifetime_ms = lifetime_ms
        return [_encoded(header, response)]

    def _raw_token(self, token: bytes) -> Any:
        try:
            answer = self._conversation.token(token)
        except AuthenticationFailed as failure:
            raise _Ending(str(failure)) from failure
        self._end()
        if answer is None:
            return None
        return [len(answer).to_bytes(4, "big") + answer]

    def _end(self) -> int | None:
        """Call ``done`` once the mechanism has succeeded; returns the session lifetime in milliseconds."""
        identity = self._conversation.result
        if identity is None:
            return None
        mechanism = self._conversation.mechanism
        limits = []
        if (most := self._settings.max_reauth_ms.get(mechanism, 0)) > 0:
            limits.append(most)
        if identity.expires_ms is not None:
            limits.append(identity.expires_ms - self._runtime.clock.now_ms())
        lifetime_ms = max(0, min(limits)) if limits else None
        self._next = self._done(AuthenticationResult(identity, mechanism, lifetime_ms))
        return lifetime_ms


class _Ending(Exception):
    """The connection is closed after the delay, after sending these bytes, if any."""

    def __init__(self, reason: str, last_words: bytes = b"") -> None:
        super().__init__(reason)
        self.last_words = last_words


def _malformed(error: WireError) -> CloseConnection:
    return CloseConnection(f"it sent a malformed request ({error})")


def _without_expectation(header: RequestHeader, frame: memoryview, at: int) -> memoryview:
    """The request without the cluster and the broker that the client expects: Apache Kafka compares them for those who are signed in."""
    request, _ = ApiVersionsRequest.decode(frame, at, header.api_version)
    request.cluster_id, request.node_id = None, -1
    written = bytearray()
    encode_request_header(written, header)
    request.encode(written, header.api_version)
    return memoryview(written)


def _check_version(header: RequestHeader, request: type[SaslHandshakeRequest | SaslAuthenticateRequest]) -> None:
    if not request.VERSIONS[0] <= header.api_version <= request.VERSIONS[1]:
        raise CloseConnection(
            f"UNSUPPORTED_VERSION: {ApiKey(header.api_key).name} is not served in version {header.api_version}"
        )


def _encoded(header: RequestHeader, response: SaslHandshakeResponse | SaslAuthenticateResponse) -> bytes:
    out = begin_response(header.api_key, header.api_version, header.correlation_id)
    response.encode(out, header.api_version)
    out.finish()
    return bytes(out)
