"""What is said on a new connection to another node before anything else: the versions of both sides, and SASL.

A pure exchange: it yields what to send, and is sent the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pykbroker import __version__
from pykbroker.security.client.login import LoginFailed
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.headers import decode_response_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from pykbroker.security.client.login import Mechanism

_API_VERSIONS = 4
_ERROR_CODE = slice(4, 6)


class NodeCall(NamedTuple):
    """A request in a version, and the class of its answer."""

    request: Message
    response: type[Message]
    version: int

    def decode(self, frame: bytes, correlation_id: int) -> Message:
        """The answer. Raises WireError."""
        version = self.version
        if self.response is ApiVersionsResponse:  # a node that does not know the version answers in version 0
            code = int.from_bytes(frame[_ERROR_CODE], "big", signed=True)
            version = 0 if code == ErrorCode.UNSUPPORTED_VERSION else version
        found, position = decode_response_header(frame, 0, self.request.API_KEY, version)
        if found != correlation_id:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"answer {found} came where {correlation_id} was expected")
        return self.response.decode(frame, position, version)[0]


class Agreed(NamedTuple):
    """The versions that both sides know, by API key, and how long the session lasts, 0 for ever."""

    versions: Mapping[int, tuple[int, int]]
    session_ms: int

    def version(self, key: int, lowest: int) -> int:
        """The highest version. Raises KafkaError UNSUPPORTED_VERSION."""
        low, high = self.versions.get(key, (0, -1))
        if max(low, lowest) > high:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"it does not know {APIS[key].name} from version {lowest} on"
            )
        return high


Handshake = Generator[NodeCall, Message, Agreed]


def handshake(host: str, sasl: Mechanism | None) -> Handshake:
    """See the module. Raises KafkaError with the code of a node that refuses, SASL_AUTHENTICATION_FAILED where what it says proves nothing."""
    versions = yield from _versions()
    if sasl is None:
        return Agreed(versions, 0)
    return Agreed(versions, (yield from _sign_in(host, sasl)))


def _versions() -> Generator[NodeCall, Message, dict[int, tuple[int, int]]]:
    request = ApiVersionsRequest(client_software_name="pykbroker", client_software_version=__version__)
    answer = yield NodeCall(request, ApiVersionsResponse, _API_VERSIONS)
    assert isinstance(answer, ApiVersionsResponse)
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        offered = {each.api_key: each.max_version for each in answer.api_keys}.get(ApiKey.API_VERSIONS, 0)
        answer = yield NodeCall(request, ApiVersionsResponse, min(offered, _API_VERSIONS))
        assert isinstance(answer, ApiVersionsResponse)
    if answer.error_code:
        raise KafkaError(error_code(answer.error_code))
    common = {}
    for each in answer.api_keys:
        api = APIS.get(each.api_key)
        if api is not None:
            common[each.api_key] = max(each.min_version, api.min_version), min(each.max_version, api.max_version)
    return common


def _sign_in(host: str, sasl: Mechanism) -> Generator[NodeCall, Message, int]:
    """Authenticate; how long that lasts, in milliseconds."""
    from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
    from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

    begun = yield NodeCall(SaslHandshakeRequest(mechanism=sasl.name), SaslHandshakeResponse, 1)
    assert isinstance(begun, SaslHandshakeResponse)
    if begun.error_code:
        has = ", ".join(begun.mechanisms) or "none"
        raise KafkaError(
            error_code(begun.error_code), f"it does not offer the SASL mechanism {sasl.name}; it has {has}"
        )
    session_ms = 0
    try:
        login = sasl.begin(host)
        token: bytes | None = login.first()
        while token is not None:
            answer = yield NodeCall(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, 2)
            assert isinstance(answer, SaslAuthenticateResponse)
            if answer.error_code:
                raise KafkaError(error_code(answer.error_code), answer.error_message)
            session_ms = answer.session_lifetime_ms
            token = login.answer(bytes(answer.auth_bytes))
    except LoginFailed as error:
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from error
    return session_ms
