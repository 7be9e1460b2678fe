"""One blocking connection to a broker: request and response frames, and versions that both sides support."""

from __future__ import annotations

import socket
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from pykbroker import __version__
from pykbroker.client.errors import ClientError, Unreachable
from pykbroker.client.frames import LARGEST_RESPONSE, FrameSocket, NotAFrame, connect, now
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError, error_code
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from pykbroker.security.client.settings import ClientSecurity

R = TypeVar("R", bound=Message)

#: Before the broker has proved who it is: as much as brokers read of a client then (sasl.server.max.receive.size).
_LARGEST_AT_FIRST = 512 * 1024
#: A response may take a second longer for each of these many bytes.
_SLOWEST_BYTES_PER_S = 1024 * 1024
_API_VERSIONS_AT_FIRST = 4
#: The part of the session lifetime after which to reauthenticate, well before the broker closes the connection.
_PART_OF_SESSION = 0.8


class BrokerConnection:
    """A connection to ``host:port``. Responses come in request order; several requests may be in flight.

    Connecting takes at most ``timeout_s`` in all, from the first packet to the end of authentication; so does each response, plus a
    second for each MiB of it: a broker that sends a byte a second does not hold its client for ever.

    Methods that use the network raise Unreachable if the connection breaks or no response comes within ``timeout_s``,
    and ClientError if a response is not Kafka's protocol. With ``security`` they also raise ClientError if the broker's
    certificate is not trusted or the broker refuses the credentials.
    """

    def __init__(
        self, host: str, port: int, *, timeout_s: float, client_id: str, security: ClientSecurity | None = None
    ) -> None:
        self.address = f"{host}:{port}"
        self.broken = False
        self._timeout_s = timeout_s
        self._client_id = client_id
        self._security = security
        self._sign_in_at: float | None = None
        self._correlation_id = 0
        self._expected: deque[tuple[int, int, int]] = deque()  # correlation id, API key, version
        self._served = False
        #: When connecting, or authenticating again, must have ended; None at other times.
        self._connected_by: float | None = now() + timeout_s
        self._socket = FrameSocket(self._connected(host, port, self._connected_by))
        try:
            self._versions = self._negotiate()
            self._sign_in()
        except BaseException:
            self.close()
            raise
        self._connected_by = None

    def _connected(self, host: str, port: int, due: float) -> socket.socket:
        try:
            plain = connect(host, port, due)
        except socket.gaierror as error:
            raise Unreachable(f"The host name {host} cannot be resolved: {error.strerror}.") from error
        except (ValueError, OverflowError) as error:  # a broker advertised what is no host name, or no port
            raise Unreachable(f"{self.address} is no address.") from error
        except TimeoutError as error:
            raise Unreachable(f"{self.address} did not answer within {self._timeout_s:g} s.") from error
        except OSError as error:
            raise Unreachable(f"Cannot connect to {self.address}: {error.strerror or error}.") from error
        if self._security is None:
            return plain
        from pykbroker.client.authentication import with_tls

        return with_tls(plain, host, self.address, self._security)

    def fileno(self) -> int:
        """The socket's descriptor, for ``select``."""
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def supports(self, key: int) -> bool:
        """Whether both sides have a version of this API in common."""
        return key in self._versions

    def version(self, key: int, highest: int | None = None) -> int:
        """Return the highest version that both sides support, at most ``highest``. Raises ClientError if there is none."""
        low, high = self._versions.get(key, (0, -1))
        if highest is not None:
            high = min(high, highest)
        if low > high:
            raise ClientError(
                f"The broker at {self.address} does not offer the API {APIS[key].name} in a version that this command needs."
            )
        return high

    def call(self, request: Message, response: type[R], highest: int | None = None) -> R:
        """Send ``request`` in the highest common version (at most ``highest``) and wait for the response."""
        self.send(request, highest)
        return self.receive(response)

    def send(self, request: Message, highest: int | None = None, *, answered: bool = True) -> None:
        """Send ``request`` without waiting; ``answered`` is false for Produce with acks=0, which has no response."""
        if self._sign_in_at is not None and not self._expected and now() > self._sign_in_at:
            self._sign_in_again()
        key = request.API_KEY
        self._send(request, key, self.version(key, highest), answered=answered)

    def receive(self, response: type[R], timeout_s: float | None = None) -> R:
        """Return the response to the oldest request in flight; ``timeout_s`` is added to the connection's own timeout."""
        correlation_id, key, version = self._expected.popleft()
        frame = self._read_frame(timeout_s or 0)
        self._served = True
        try:
            found, pos = decode_response_header(frame, 0, key, version)
            if found != correlation_id:
                raise WireError(f"answers request {found} where {correlation_id} was expected")
            message, _ = response.decode(frame, pos, version)
        except WireError as error:
            raise ClientError(f"{self.address} answered {APIS[key].name} with malformed bytes: {error}.") from error
        assert isinstance(message, response)
        return message

    # Authentication

    def _sign_in(self) -> None:
        """Authenticate if the protocol has SASL, and again before the session expires (KIP-368)."""
        self._sign_in_at = None
        if self._security is None or self._security.sasl is None:
            return
        from pykbroker.client.authentication import sign_in

        lifetime_ms = sign_in(self.call, self.address, self._security.sasl)
        self._served = False
        if lifetime_ms:
            self._sign_in_at = now() + _PART_OF_SESSION * lifetime_ms / 1000

    def _sign_in_again(self) -> None:
        self._connected_by = now() + self._timeout_s
        try:
            self._sign_in()
        finally:
            self._connected_by = None

    # Frames

    def _negotiate(self) -> dict[int, tuple[int, int]]:
        request = ApiVersionsRequest(client_software_name="pykbroker-cli", client_software_version=__version__)
        answer = self._api_versions(request, _API_VERSIONS_AT_FIRST)
        # an older broker: its UNSUPPORTED_VERSION in version 0 lists what it supports
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            offered = {item.api_key: item.max_version for item in answer.api_keys}.get(ApiKey.API_VERSIONS, 0)
            answer = self._api_versions(request, min(offered, _API_VERSIONS_AT_FIRST))
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code))
        versions = {}
        for item in answer.api_keys:
            api = APIS.get(item.api_key)
            if api is None:
                continue
            highest = api.max_version - 1 if api.latest_unstable else api.max_version
            low, high = max(item.min_version, api.min_version), min(item.max_version, highest)
            if low <= high:
                versions[item.api_key] = (low, high)
        return versions

    def _api_versions(self, request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
        self._send(request, ApiKey.API_VERSIONS, version)
        frame = self._read_frame()
        self._expected.popleft()
        try:
            code = int.from_bytes(frame[4:6], "big", signed=True)
            answered = 0 if code == ErrorCode.UNSUPPORTED_VERSION else version
            return ApiVersionsResponse.decode(frame, 4, answered)[0]
        except WireError as error:
            raise self._not_kafka() from error

    def _send(self, request: Message, key: int, version: int, *, answered: bool = True) -> None:
        self._correlation_id += 1
        frame = FrameWriter()
        encode_request_header(frame, RequestHeader(key, version, self._correlation_id, self._client_id))
        request.encode(frame, version)
        if answered:
            self._expected.append((self._correlation_id, key, version))
        try:
            self._socket.send(b"".join(frame.finish()), self._connected_by or now() + self._timeout_s)
        except OSError as error:
            raise self._broken(error) from error

    def _read_frame(self, more_s: float = 0.0) -> bytes:
        """The next frame, without its size; ``more_s`` is added to the timeout."""
        try:
            if self._connected_by is not None:
                return self._socket.receive(self._connected_by, _LARGEST_AT_FIRST)
            due = now() + self._timeout_s + more_s
            return self._socket.receive(due, LARGEST_RESPONSE, seconds_per_byte=1 / _SLOWEST_BYTES_PER_S)
        except NotAFrame as error:
            raise self._not_kafka() from error
        except OSError as error:
            raise self._broken(error) from error
        except EOFError as error:
            self._break()
            raise Unreachable(f"{self.address} closed the connection; its log may say why.{self._advice()}") from error

    def _break(self) -> None:
        """Who replaces a broken connection does not close it."""
        self.broken = True
        self.close()

    def _broken(self, error: OSError) -> ClientError:
        self._break()
        if isinstance(error, TimeoutError):
            return Unreachable(f"{self.address} did not answer within {self._timeout_s:g} s; --timeout waits longer.")
        if self._security is not None:
            from pykbroker.client.authentication import alert_trouble

            if (refused := alert_trouble(error, self.address)) is not None:
                return refused
        return Unreachable(f"The connection to {self.address} broke: {error.strerror or error}.{self._advice()}")

    def _advice(self) -> str:
        """A listener with security closes plaintext connections without a response; this says what to try."""
        if self._served or self._security is not None:
            return ""
        return " Does it want TLS, or a user who signs in? --command-config FILE says how."

    def _not_kafka(self) -> ClientError:
        if self._security is not None and self._security.tls is not None:
            return ClientError(f"{self.address} speaks TLS, but not Kafka's protocol inside it: check the address.")
        return ClientError(
            f"{self.address} does not speak Kafka's plain protocol. Is it a TLS port (then --command-config FILE says how to "
            "connect), or another service's?"
        )
