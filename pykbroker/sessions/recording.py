"""Records the requests and responses of a dispatcher, as frames and decoded, on the brokers' loop."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.runtime.waits import Deferred
from pykbroker.sessions.session import RecordedExchange, Session
from pykbroker.sessions.values import plain
from pykbroker.wire.apis import APIS, ApiKey, request_class, response_class
from pykbroker.wire.errors import ErrorCode, WireError
from pykbroker.wire.headers import decode_request_header, decode_response_header

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import Peer


class Recorder:
    """One recording, from its creation on; ``session`` has what was recorded so far."""

    def __init__(self) -> None:
        self.session = Session()
        self._connections: dict[int, tuple[Peer, int]] = {}
        self._happened = 0
        self._began_ms: int | None = None

    def answer(self, broker: Broker, peer: Peer, frame: memoryview, answer: Callable[[], Any]) -> Any:
        """Return what ``answer()`` returns or raises, after recording it.

        A frame that is handed in again later is recorded then.
        """
        noted = self._request(broker, peer, bytes(frame))
        try:
            answered = answer()
        except NotYet:
            raise
        except CloseConnection as error:
            self.session.exchanges.append(noted)
            self._closed(noted, str(error))
            raise
        self.session.exchanges.append(noted)
        if isinstance(answered, Deferred):
            sent = answered.map(lambda pieces: self._answered(noted, pieces))
            sent.recover(CloseConnection, lambda error: self._closed(noted, str(error))).or_log("recording an answer")
        else:
            self._answered(noted, answered)
        return answered

    def _request(self, broker: Broker, peer: Peer, frame: bytes) -> RecordedExchange:
        now_ms = broker.runtime.clock.now_ms()
        if self._began_ms is None:
            self._began_ms = now_ms
        known = self._connections.setdefault(id(peer), (peer, len(self._connections) + 1))
        noted = RecordedExchange(0, self._next(), known[1], broker.node_id, now_ms - self._began_ms)
        try:
            header, position = decode_request_header(frame, 0)
            noted.api, noted.version = ApiKey(header.api_key).name, header.api_version
            noted.client_id = header.client_id
            request, _ = request_class(header.api_key).decode(frame, position, header.api_version)
            noted.request = plain(request)
        except (WireError, ValueError):
            noted.frame = base64.b64encode(frame).decode()
        return noted

    def _next(self) -> int:
        self._happened += 1
        return self._happened

    def _answered(self, noted: RecordedExchange, pieces: list[Any] | None) -> None:
        noted.answered = self._next()
        if pieces is None:
            return
        frame = b"".join(map(bytes, pieces))[4:]
        read_answer(noted, frame)

    def _closed(self, noted: RecordedExchange, why: str) -> None:
        noted.answered = self._next()
        noted.closed = why


def read_answer(noted: RecordedExchange, frame: bytes) -> None:
    """Record the response in a frame. Raises WireError."""
    key, version = ApiKey[noted.api], noted.version
    if key == ApiKey.API_VERSIONS:
        code = int.from_bytes(frame[4:6], "big", signed=True)
        if code == ErrorCode.UNSUPPORTED_VERSION:  # KIP-511: an unsupported ApiVersions is answered in version 0
            version = noted.answer_version = 0
    _, position = decode_response_header(frame, 0, key, version)
    answer, _ = response_class(key).decode(frame, position, version)
    noted.answer = plain(answer)


def api_key(name: str) -> int:
    """Return the key of an API. Raises ValueError for an unknown name."""
    if name not in ApiKey.__members__:
        raise ValueError(f"Kafka has no API {name!r}; write one of {', '.join(api.name for api in APIS.values())}")
    return int(ApiKey[name])
