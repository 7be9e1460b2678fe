"""The request log of a test: requests of clients with their answers.

It keeps the last requests, up to a number of messages and of structs in them, and the first bytes of records. So it costs some
microseconds per request and some megabytes at most. Secrets are hidden (``redaction.py``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.handlers.in_slices import around_a_handler, is_in_place
from pykbroker.runtime.slices import at_once
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.steered.redaction import copied, without_secrets
from pykbroker.wire.apis import ApiKey, response_class
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.headers import decode_request_header
from pykbroker.wire.message import Message, WireStruct

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.security.context import Peer, RequestContext

#: Kafka's names of the APIs: ``Produce``, ``ApiVersions``, ``AddOffsetsToTxn``.
API_NAMES: Final = {int(key): key.name.title().replace("_", "") for key in ApiKey}
#: In place of an API: requests to the schema registry of the process.
REGISTRY: Final = "SchemaRegistry"
#: Bytes of a partition's records that are kept: enough for the batch header and small records.
KEPT_RECORD_BYTES: Final = 4096
#: The most requests, and the most structs in them and their answers (topics, partitions, members ...).
MOST_REQUESTS: Final = 1000
MOST_STRUCTS: Final = 50_000
#: The weight of a struct that is looked at.
_WEIGHT: Final = 0.6


@dataclass(slots=True, eq=False)
class Request:
    """One request. ``request`` and ``response`` are the decoded messages, with the fields of Kafka's schemas in
    ``snake_case``; ``records`` are cut after 4096 bytes. ``response`` is None as long as there is none. One to the schema registry
    (``SchemaRegistry``) has neither, but a ``path`` and a ``status``.
    """

    api: str
    version: int
    client_id: str | None
    #: ``host:port`` of the client, and the broker it asked.
    client: str
    node_id: int
    correlation_id: int
    request: Message | None
    response: Message | None = None
    #: Names of the topics that the request names.
    topics: frozenset[str] = frozenset()
    #: Why the connection was closed without an answer: not served in this version, or malformed.
    refused: str | None = None
    #: Why the connection was closed instead of an answer, for instance by a fault.
    closed: str | None = None
    #: The error of the request as a whole, if its handler raised one.
    error: ErrorCode | None = None
    #: Its arrival in milliseconds since the epoch on the broker's clock, and the milliseconds until its answer.
    at_ms: int = 0
    took_ms: float | None = None
    #: Of a request to the schema registry: method and path, and the status of the answer.
    path: str | None = None
    status: int | None = None
    weight: int = field(default=1, repr=False)

    @property
    def error_codes(self) -> frozenset[ErrorCode]:
        """Every error code in its answer, at the top or in a part."""
        return frozenset(self.each_error_code()) - {ErrorCode.NONE}

    def each_error_code(self) -> Iterator[ErrorCode]:
        """The same one after the other, as often as they are there, NONE too: an answer may have thousands."""
        for code in _error_codes(self.response):
            yield ErrorCode(code)
        if self.error:
            yield self.error

    def __str__(self) -> str:
        return self.text(self.error_codes)

    def text(self, codes: Collection[ErrorCode]) -> str:
        """One line about it; ``codes`` are the different error codes."""
        about = f" {', '.join(sorted(self.topics))}" if self.topics else ""
        if self.refused is not None:
            ended = f"refused: {self.refused}"
        elif self.closed is not None:
            ended = f"closed: {self.closed}"
        elif self.took_ms is None:
            ended = "not answered yet"
        else:
            errors = ", ".join(sorted(code.name for code in codes))
            ended = f"{self.status or errors or 'ok'} after {self.took_ms:.1f} ms"
        if self.path is not None:
            return f"{self.client_id} -> schema registry: {self.path}: {ended}"
        return f"{self.client_id} -> broker {self.node_id}: {self.api} v{self.version}{about}: {ended}"


class RequestLog:
    """A step of the dispatcher that records requests and answers. Belongs to the broker's thread."""

    def __init__(self) -> None:
        self._kept: deque[Request] = deque()
        self._weight = 0
        #: Requests that were put off (NotYet) and come again, with the time of their first arrival.
        self._put_off: dict[tuple[str, int], tuple[Request, float]] = {}
        #: The last error that closed a connection after this step.
        self._recorded_error: CloseConnection | None = None

    def clear(self) -> None:
        """Remove all requests."""
        self._kept.clear()
        self._put_off.clear()
        self._weight = 0

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._kept))

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        work = self._logged(broker, ctx, request, proceed)
        if ctx.api_key == ApiKey.PRODUCE and is_in_place(request):
            return at_once(work)
        return around_a_handler(broker, ctx, work)

    def _logged(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]) -> Work[Any]:
        clock, run = broker.runtime.clock, broker.runtime.slices.run
        peer = ctx.connection
        client = f"{ctx.client_host}:{peer.port}" if peer is not None else ctx.client_host
        again = self._put_off.pop((client, ctx.correlation_id), None)
        noted, began = again or ((yield from self._note(broker, ctx, client, request)), clock.monotonic())

        def answered(response: Any) -> Generator[float, None, Any]:
            noted.took_ms = (clock.monotonic() - began) * 1000
            kept = yield from without_records(response)
            noted.response = yield from without_secrets(_plain(kept))
            self._grow(noted, (yield from _weigh(response)))  # one that is kept for all clients weighs nothing more
            return response

        def failed(error: KafkaError) -> NoReturn:
            noted.took_ms = (clock.monotonic() - began) * 1000
            noted.error = ErrorCode(error.code)
            raise error

        def closed(error: CloseConnection) -> NoReturn:
            noted.took_ms = (clock.monotonic() - began) * 1000
            noted.closed = str(error)
            self._recorded_error = error
            raise error

        try:
            answer: Any = proceed()
        except NotYet as error:
            self._put_off[client, ctx.correlation_id] = noted, began
            if not ctx.in_slices:
                raise
            return error.until.settled().chain(lambda _: as_wait(run(self._logged(broker, ctx, request, proceed))))
        except KafkaError as error:
            failed(error)
        except CloseConnection as error:
            closed(error)
        if not isinstance(answer, Deferred):
            return (yield from answered(answer))
        # The answer leaves once it is noted: who has it finds it here.
        later = answer.chain(lambda response: as_wait(run(answered(response))))
        over: Deferred[Any] = later.recover(KafkaError, failed).recover(CloseConnection, closed)
        over.when_abandoned = answer.abandon
        return over

    def _note(self, broker: Broker, ctx: RequestContext, client: str, request: Any) -> Generator[float, None, Request]:
        kept = yield from without_records(request)
        noted = Request(
            *(API_NAMES[ctx.api_key], ctx.api_version, ctx.client_id, client, broker.node_id, ctx.correlation_id),
            (yield from without_secrets(kept)),
            at_ms=broker.runtime.clock.now_ms(),
        )
        topics: set[str] = set()
        weight = yield from _weigh(request, topics, broker.topic_name)
        noted.topics = frozenset(topics)
        self._keep(noted, weight)
        return noted

    def note_registry(self, path: str, client_id: str, client: str, at_ms: int) -> Request:
        """Note a request to the schema registry, whose answer is filled in later."""
        noted = Request(REGISTRY, -1, client_id, client, -1, -1, None, at_ms=at_ms, path=path)
        self._keep(noted, 1)
        return noted

    def refused(self, broker: Broker, peer: Peer, frame: memoryview, error: CloseConnection) -> None:
        """Record a frame that did not reach the steps."""
        if error is self._recorded_error:
            return
        try:
            header, _ = decode_request_header(frame, 0)
        except WireError:
            api, version, correlation_id, client_id = "a malformed request", -1, -1, None
        else:
            api = API_NAMES.get(header.api_key, f"API key {header.api_key}")
            version, correlation_id, client_id = header.api_version, header.correlation_id, header.client_id
        client = f"{peer.host}:{peer.port}"
        last = self._kept[-1] if self._kept else None
        if last is not None and (last.client, last.correlation_id) == (client, correlation_id):
            last.closed = last.closed or str(error)
            return
        at_ms = broker.runtime.clock.now_ms()
        self._keep(
            Request(
                *(api, version, client_id, client, broker.node_id, correlation_id, None),
                refused=str(error),
                at_ms=at_ms,
            ),
            1,
        )

    def _keep(self, noted: Request, weight: int) -> None:
        noted.weight = weight
        self._kept.append(noted)
        self._weight += weight
        self._shrink()

    def _grow(self, noted: Request, weight: int) -> None:
        if noted.weight:  # otherwise it was removed before its answer came
            noted.weight += weight
            self._weight += weight
            self._shrink()

    def _shrink(self) -> None:
        while len(self._kept) > MOST_REQUESTS or (self._weight > MOST_STRUCTS and self._kept):
            dropped = self._kept.popleft()
            self._weight -= dropped.weight
            dropped.weight = 0
            self._put_off.pop((dropped.client, dropped.correlation_id), None)


def chosen(
    requests: Iterable[Request], api: str | None = None, client_id: str | None = None, topic: str | None = None
) -> list[Request]:
    """The requests of an API, of a client, about a topic. Raises ValueError for an unknown API."""
    name = None if api is None else api_name(api)
    return [
        each
        for each in requests
        if (name is None or each.api == name)
        and (client_id is None or each.client_id == client_id)
        and (topic is None or topic in each.topics)
    ]


def api_name(text: str) -> str:
    """Kafka's name of an API, given in any spelling. Raises ValueError with similar names."""
    known = {name.lower(): name for name in (*API_NAMES.values(), REGISTRY)}
    name = known.get(text.replace("_", "").lower())
    if name is None:
        near = get_close_matches(text.replace("_", "").lower(), known, 3, 0.5)
        meant = " or ".join(known[each] for each in near) or "Produce, Fetch, Metadata ..."
        raise ValueError(f"Kafka has no API {text!r}; write {meant}")
    return name


def without_records(message: Any) -> Generator[float, None, Any]:
    """The message, or a copy with only the first bytes of its records: their memory is reused after the request."""
    if message is None or message.API_KEY not in (ApiKey.PRODUCE, ApiKey.FETCH):
        return message
    return (yield from copied(message, _cut))


def _plain(response: Any) -> Any:
    """The response as the class of its API, which one that is kept for all clients is not."""
    if response is None:
        return None
    kind: Any = response_class(response.API_KEY)
    return response if type(response) is kind else kind(*[getattr(response, name) for name in kind.__slots__])


def _cut(struct: Any) -> Steps:
    records = getattr(struct, "records", None)
    if records is not None:
        struct.records = _first_bytes(records)
    yield from ()


def _first_bytes(records: Any) -> bytes:
    if isinstance(records, bytes | bytearray | memoryview):
        return bytes(records[:KEPT_RECORD_BYTES])
    if isinstance(records, list | tuple):
        return b"".join(_first_bytes(each) for each in records)[:KEPT_RECORD_BYTES]
    return b""  # records in files are not read for the log


def _weigh(
    message: Any, topics: set[str] | None = None, name_of: Callable[[bytes], str | None] | None = None
) -> Generator[float, None, int]:
    """The number of structs and of names of topics, which are added to ``topics``; more than are kept are not counted to the end."""
    if message is None:
        return 0
    count = 0
    parts: list[tuple[str, Iterator[Any]]] = [("", iter([message]))]
    while parts and count <= MOST_STRUCTS:
        field_name, structs = parts[-1]
        struct = next(structs, None)
        if struct is None:
            parts.pop()
            continue
        count += 1
        if topics is not None and "topic" in field_name and getattr(struct, "name", None):
            topics.add(struct.name)
        for name in struct.__slots__:
            value = getattr(struct, name)
            if type(value) is list and value and isinstance(value[0], WireStruct):
                parts.append((name, iter(value)))
            elif topics is not None and "topic" in name:
                count += _note_topics(name, value, topics, name_of)
        yield _WEIGHT
    return count


def _note_topics(name: str, value: Any, topics: set[str], name_of: Callable[[bytes], str | None] | None) -> int:
    """Adds the topic or the topics that a field names; returns the number of those in a list."""
    if name in ("topic", "topic_name") and value and isinstance(value, str):
        topics.add(value)
    elif name == "topic_id" and isinstance(value, bytes) and any(value) and name_of is not None:
        known = name_of(value)
        if known is not None:
            topics.add(known)
    elif type(value) is list and value and isinstance(value[0], str):
        topics.update(value[:MOST_STRUCTS])
        return len(value)
    return 0


def _error_codes(struct: Any) -> Iterator[int]:
    if not isinstance(struct, WireStruct):
        return
    for name in struct.__slots__:
        value = getattr(struct, name)
        if name == "error_code":
            yield value
        elif type(value) is list:
            for each in value:
                yield from _error_codes(each)
