"""One blocking connection to one broker: frames out, frames in, and which version of each API both sides speak."""

from __future__ import annotations

import socket
from collections import deque
from typing import TypeVar

from pykbroker import __version__
from pykbroker.cli.trouble import CliError, Unreachable
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError, error_code
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

R = TypeVar("R", bound=Message)

_LARGEST_RESPONSE = 256 * 1024 * 1024  # what HTTP or TLS would say in place of a size is larger
_API_VERSIONS_AT_FIRST = 4


class Connection:
    """A connection to ``host:port``. Responses come in the order of the requests; several may be on their way.

    Every method that uses the network raises Unreachable when the connection breaks or nothing comes within
    ``timeout_s``, and CliError when what comes is not Kafka's protocol.
    """

    def __init__(self, host: str, port: int, *, timeout_s: float, client_id: str) -> None:
        self.address = f"{host}:{port}"
        self.broken = False
        self._timeout_s = timeout_s
        self._client_id = client_id
        self._correlation_id = 0
        self._expected: deque[tuple[int, int, int]] = deque()  # correlation id, API key, version
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except socket.gaierror as error:
            raise Unreachable(f"The host name {host} cannot be resolved: {error.strerror}.") from error
        except TimeoutError as error:
            raise Unreachable(f"{self.address} did not answer within {timeout_s:g} s.") from error
        except OSError as error:
            raise Unreachable(f"Cannot connect to {self.address}: {error.strerror or error}.") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._versions = self._negotiate()
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """The socket's descriptor, so that ``select`` takes a connection."""
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def supports(self, key: int) -> bool:
        """Whether both sides have a version of this API in common."""
        return key in self._versions

    def version(self, key: int, highest: int | None = None) -> int:
        """The highest version that both sides speak, no higher than ``highest``. Raises CliError when there is none."""
        low, high = self._versions.get(key, (0, -1))
        if highest is not None:
            high = min(high, highest)
        if low > high:
            raise CliError(f"The broker at {self.address} does not offer the API {APIS[key].name} as this needs it.")
        return high

    def call(self, request: Message, response: type[R], highest: int | None = None) -> R:
        """Send ``request`` in the best version (no higher than ``highest``) and wait for its response."""
        self.send(request, highest)
        return self.receive(response)

    def send(self, request: Message, highest: int | None = None, *, answered: bool = True) -> None:
        """Send ``request`` without waiting; ``answered`` is false for the one that has no response, Produce with acks 0."""
        key = request.API_KEY
        self._send(request, key, self.version(key, highest), answered=answered)

    def receive(self, response: type[R], timeout_s: float | None = None) -> R:
        """The response to the oldest request that has none yet; ``timeout_s`` is added to the connection's own."""
        correlation_id, key, version = self._expected.popleft()
        self._socket.settimeout(self._timeout_s + (timeout_s or 0))
        frame = self._read_frame()
        try:
            found, pos = decode_response_header(frame, 0, key, version)
            if found != correlation_id:
                raise WireError(f"answers request {found} where {correlation_id} was expected")
            message, _ = response.decode(frame, pos, version)
        except WireError as error:
            raise CliError(f"{self.address} answered {APIS[key].name} with malformed bytes: {error}.") from error
        assert isinstance(message, response)
        return message

    # Below: bytes

    def _negotiate(self) -> dict[int, tuple[int, int]]:
        request = ApiVersionsRequest(client_software_name="pykbroker-cli", client_software_version=__version__)
        answer = self._api_versions(request, _API_VERSIONS_AT_FIRST)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:  # an older broker: it says which it has, in version 0
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
            self._socket.sendall(b"".join(frame.finish()))
        except OSError as error:
            raise self._broken(error) from error

    def _read_frame(self) -> bytes:
        size = int.from_bytes(self._read(4), "big", signed=True)
        if not 0 <= size <= _LARGEST_RESPONSE:
            raise self._not_kafka()
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._socket.recv(min(size - len(data), 1 << 20))
            except OSError as error:
                raise self._broken(error) from error
            if not piece:
                self.broken = True
                raise Unreachable(f"{self.address} closed the connection; its log may say why.")
            data += piece
        return bytes(data)

    def _broken(self, error: OSError) -> Unreachable:
        self.broken = True
        if isinstance(error, TimeoutError):
            return Unreachable(f"{self.address} did not answer within {self._timeout_s:g} s; --timeout waits longer.")
        return Unreachable(f"The connection to {self.address} broke: {error.strerror or error}.")

    def _not_kafka(self) -> CliError:
        return CliError(
            f"{self.address} does not speak Kafka's plain protocol. Is it a TLS port, or another service's?"
        )
