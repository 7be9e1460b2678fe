"""Dispatches requests: one frame in, one answer out.

It decodes a request, passes it through the places that are filled around its handler (``pipeline.py`` has their order), and encodes the
answer.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from logging import DEBUG
from typing import TYPE_CHECKING, Any, cast

from pykbroker.handlers.contract import LARGE, CloseConnection, NotYet
from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.partitions.dormant_logs import OPENED_AT_ONCE
from pykbroker.requests.pipeline import Pipeline, Place
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.api import API_VERSIONS
from pykbroker.wire.apis import ApiKey, request_class
from pykbroker.wire.errors import KafkaError, WireError
from pykbroker.wire.headers import begin_response, read_request_header

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Failed, Handle, Handler, LogsOf
    from pykbroker.partitions.partition import Partition
    from pykbroker.requests.large import LargeRequests
    from pykbroker.requests.pipeline import Guard
    from pykbroker.security.context import Peer
    from pykbroker.wire.headers import RequestHeader

log = logging.getLogger(__name__)

#: The modules with a path for requests of the usual form, which the handler would answer alike (``usual_produce.py``).
_USUAL = {
    ApiKey.PRODUCE: "usual_produce",
    ApiKey.FETCH: "usual_fetch",
    ApiKey.OFFSET_COMMIT: "usual_offset_commit",
    ApiKey.HEARTBEAT: "usual_heartbeat",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "usual_consumer_group_heartbeat",
}
#: Set to 0, all requests go through their handlers: for the tests that compare both, and to see whether a fault is in the shorter one.
USUAL_VARIABLE = "PYKBROKER_USUAL_PATH"
#: What LARGE is for APIs whose frames are large because of the records in them.
LARGE_WITH_RECORDS = 16 * 1024
_WITH_RECORDS = frozenset({ApiKey.PRODUCE})
#: A request that names more than OPENED_AT_ONCE partitions has more bytes: four for each, and twelve before them.
_NAMES_MANY = 4 * OPENED_AT_ONCE + 12


class _Route:
    """A row of the table with its classes imported, when the first request of its key arrives."""

    __slots__ = (
        "api",
        "decode",
        "failed",
        "handle",
        "has_records",
        "large_from",
        "max_version",
        "min_version",
        "opens",
        "usual",
        "usual_since",
    )

    def __init__(self, api: ServedApi, wrapped: Guard, *, usual: bool) -> None:
        module = cast("Handler", importlib.import_module(f"pykbroker.handlers.{api.handler}"))
        self.api = api
        self.min_version, self.max_version = api.min_version, api.max_version
        self.decode: Callable[..., tuple[Any, int]] = request_class(api.key).decode
        self.handle: Handle = wrapped(api.key, module.handle)
        self.failed: Failed | None = getattr(module, "failed", None)
        self.opens: LogsOf | None = getattr(module, "logs_of", None)
        self.has_records = api.key in _WITH_RECORDS
        self.large_from = LARGE_WITH_RECORDS if self.has_records else LARGE
        #: Answers requests of the usual form without messages, from this version on; None where anything is around the handler.
        self.usual: Callable[..., Any] | None = None
        self.usual_since = 0
        if usual and api.key in _USUAL and self.handle is module.handle:
            shorter: Any = importlib.import_module(f"pykbroker.handlers.{_USUAL[api.key]}")
            self.usual, self.usual_since = shorter.answer, shorter.SINCE

    # What is done with a large request, once it is decoded (``large.HandledApi``)

    def logs_of(self, broker: Broker, version: int, request: Any) -> Iterable[Partition | None]:
        return () if self.opens is None else self.opens(broker, version, request)

    def refusal(self, request: Any, version: int, error: KafkaError) -> Any:
        return _failure(self, request, version, error)


class Dispatcher:
    """See the module. ``table`` has the served APIs, ``filled`` what fills the places around their handlers at first; ``places`` fills and
    empties them later. ``usual`` says whether requests of the usual form take the shorter path, by default as ``PYKBROKER_USUAL_PATH`` says.
    """

    def __init__(
        self,
        table: Iterable[ServedApi] = SUPPORTED,
        filled: Mapping[Place, Guard] | None = None,
        *,
        usual: bool | None = None,
    ) -> None:
        self._apis = {int(api.key): api for api in table}
        self._routes: dict[int, _Route] = {}
        self.places = Pipeline(filled or {}, self._changed)
        self._reads_size = self.places.reads_size
        self._usual = os.environ.get(USUAL_VARIABLE) != "0" if usual is None else usual

    @cached_property
    def _large(self) -> LargeRequests:
        from pykbroker.requests.large import LargeRequests

        return LargeRequests()

    def _changed(self) -> None:
        self._routes.clear()
        self._reads_size = self.places.reads_size

    def serves(self, key: ApiKey, version: int) -> bool:
        """Whether the API is served in this version."""
        api = self._apis.get(int(key))
        return api is not None and api.min_version <= version <= api.max_version

    def answer(self, broker: Broker, peer: Peer, frame: memoryview) -> Any:
        """Answer one request frame (without its size).

        Returns the response as a list of buffers, size included; a Deferred of it if the handler waits; None if nothing
        is to be sent. Raises NotYet if the frame must be handed in again later, and CloseConnection if the connection
        must be closed, for instance for malformed bytes.
        """
        try:
            key, version, correlation_id, client_id, pos = read_request_header(frame, 0)
        except WireError as error:
            raise CloseConnection(f"it sent a malformed request ({error})") from error
        route = self._routes.get(key)
        if route is None or not route.min_version <= version <= route.max_version:
            route = self._route(key, version)
        tells = log.isEnabledFor(DEBUG)
        if route.usual is not None and version >= route.usual_since and not tells and not broker.dormant.partitions:
            usual = route.usual(broker, peer, frame, pos, version, (correlation_id, client_id))
            if usual is not None:
                return usual if type(usual) is list else _answered(route, broker, *usual)
        ctx = RequestContext(key, version, correlation_id, client_id, peer.host, peer.listener, peer.principal, peer)
        if tells:
            _tell(route, ctx, peer, len(frame))
        if key == API_VERSIONS and not 0 <= version <= route.api.max_version:
            # KIP-511: answered in version 0 with UNSUPPORTED_VERSION, whatever the body is.
            version = ctx.api_version = 0
            request = None
        elif len(frame) < route.large_from:
            try:
                request, _ = route.decode(frame, pos, version)
            except WireError as error:
                raise CloseConnection(f"it sent a malformed request ({error})") from error
        else:
            request = self._large.decoded_in_place(key, frame, pos, version) if route.has_records else None
            if request is None:
                if self._reads_size:
                    ctx.size = len(frame)
                return self._large.answer(broker, ctx, frame, pos, route)
        if route.opens is not None and (broker.dormant.partitions or (broker.dormant.new and len(frame) > _NAMES_MANY)):
            _wait_for_logs(broker, route.opens(broker, version, request))
        if self._reads_size:
            ctx.size = len(frame)
        response: Any
        try:
            response = route.handle(broker, ctx, request)
        except KafkaError as error:
            response = _failure(route, request, version, error)
        if type(response) is Deferred:
            if not response.done:
                return _later(route, broker, ctx, request, response)
            response = response.result if response.error is None else _failed(route, request, version, response)
        if response is None:
            return None
        out = begin_response(key, version, correlation_id)
        response.encode(out, version)
        return out.finish()

    def refusal(self, header: RequestHeader, frame: memoryview, at: int, error: KafkaError) -> bytes:
        """The encoded answer with ``error`` for a request whose body begins at ``at`` in ``frame``; empty if its API has none.
        Raises CloseConnection as ``answer`` does.
        """
        route = self._route(header.api_key, header.api_version)
        try:
            request, _ = route.decode(frame, at, header.api_version)
        except WireError as malformed:
            raise CloseConnection(f"it sent a malformed request ({malformed})") from malformed
        failed = _refused_whole if route.failed is None else route.failed
        response = failed(request, header.api_version, error)
        if response is None:
            return b""
        out = begin_response(header.api_key, header.api_version, header.correlation_id)
        response.encode(out, header.api_version)
        return b"".join(out.finish())

    def _route(self, api_key: int, version: int) -> _Route:
        """The route of a request. Raises CloseConnection if the API or version is not served, as Kafka does: the layout of
        an answer, even of an error, is unknown. The exception is ApiVersions, which every client reads in version 0.
        """
        route = self._routes.get(api_key)
        if route is None:
            api = self._apis.get(api_key)
            if api is None:
                raise CloseConnection(f"UNSUPPORTED_VERSION: API key {api_key} is not served")
            route = self._routes[api_key] = _Route(api, self.places.around, usual=self._usual)
        if not route.api.min_version <= version <= route.api.max_version and api_key != API_VERSIONS:
            raise CloseConnection(f"UNSUPPORTED_VERSION: {route.api.key.name} is not served in version {version}")
        return route


def _tell(route: _Route, ctx: RequestContext, peer: Peer, size: int) -> None:
    log.debug(
        "Request %s v%d from %s:%d, client %s, correlation %d, %d bytes",
        *(route.api.key.name, ctx.api_version, peer.host, peer.port),
        *(ctx.client_id, ctx.correlation_id, size),
    )


def _wait_for_logs(broker: Broker, partitions: Iterable[Partition | None]) -> None:
    """Raises NotYet if any of the logs is closed since the start, or many are created: a thread reads their files first, and some are opened
    in each turn.
    """
    closed = broker.dormant.closed(partitions)
    if closed:
        raise NotYet(broker.dormant.open(closed))


def _failed(route: _Route, request: Any, version: int, response: Deferred[Any]) -> Any:
    """The response for a wait that has failed already. Raises any error that is no KafkaError."""
    try:
        return response.value
    except KafkaError as error:
        return _failure(route, request, version, error)


def _failure(route: _Route, request: Any, version: int, error: KafkaError) -> Any:
    if route.failed is None:
        raise CloseConnection(f"{route.api.key.name} failed: {error}") from error
    response: Any = route.failed(request, version, error)
    if error.throttle_time_ms and hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = error.throttle_time_ms
    return response


def _refused_whole(request: Any, version: int, error: KafkaError) -> Any:
    """The answer of an API whose handler has no ``failed``."""
    from pykbroker.refusals.answers import of_the_whole

    return of_the_whole(request, version, error.code)


def _answered(route: _Route, broker: Broker, ctx: RequestContext, request: Any, response: Any) -> Any:
    """What is sent for a response, or the wait for it."""
    if isinstance(response, Deferred):
        if not response.done:
            return _later(route, broker, ctx, request, response)
        return _encoded(route, ctx, request, response)
    return _encoded(route, ctx, request, Deferred.completed(response))


def _later(route: _Route, broker: Broker, ctx: RequestContext, request: Any, response: Deferred[Any]) -> Deferred[Any]:
    """Encodes a response when it is complete."""
    sent: Deferred[Any]
    if ctx.in_slices and ctx.connection is not None:
        from pykbroker.requests.large import finished_later

        sent = finished_later(broker, ctx, route, request, response)
        ctx.connection.hold(sent)
    else:
        sent = response.fold(partial(_encoded, route, ctx, request))
    sent.when_abandoned = response.abandon
    return sent


def _encoded(route: _Route, ctx: RequestContext, request: Any, done: Deferred[Any]) -> Any:
    version = ctx.api_version
    response = done.result if done.error is None else _failed(route, request, version, done)
    if response is None:
        return None
    out = begin_response(ctx.api_key, version, ctx.correlation_id)
    response.encode(out, version)
    return out.finish()
