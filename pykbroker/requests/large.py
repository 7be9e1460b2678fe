"""Large requests and answers: decoded, handled and encoded in slices, so that nobody else waits for one.

A frame of a megabyte may name hundreds of thousands of things, and a small one may ask for an answer as large. The frame is
copied, since the receive block is used again, and a limited number of bytes of such frames is worked on at a time: others wait
in their connections.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Callable, Generator, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from pykbroker.handlers.contract import CloseConnection, NotYet, again_when_ready
from pykbroker.handlers.in_slices import IN_PLACE
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import KafkaError, WireError
from pykbroker.wire.headers import begin_response

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.primitives import Buffer

#: The most things that one request may name. Each takes some hundred bytes of memory, as often as it is named.
MOST_ELEMENTS = 1_000_000
#: Bytes of large frames that are worked on at a time, besides the first; less if the memory budget is small, since a byte of a frame
#: takes up to this many of memory until it is answered (``tests/handlers/test_longest_turn.py`` measures it).
MOST_BYTES = 16 * 1024 * 1024
MEMORY_OF_A_BYTE = 36
#: Partial collections after which a full one would come.
_NEVER = 1 << 30
#: The weight of decoding or encoding an element.
_WEIGHT = 0.4


class _FullCollections:
    """Full collections of the garbage collector look at all that a large request has made, which holds the loop for as long as hundreds
    of thousands of things take; they are put off while any dispatcher works on one, and partial ones go on. Python has one collector
    for all threads of the process, and whichever thread begins a collection, all wait: so there is one of this, too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: set[object] = set()
        self._thresholds = gc.get_threshold()

    def put_off(self, reason: object) -> None:
        with self._lock:
            if not self._reasons:
                self._thresholds = gc.get_threshold()
                gc.set_threshold(*self._thresholds[:2], _NEVER)
            self._reasons.add(reason)

    def resume(self, reason: object) -> None:
        with self._lock:
            self._reasons.discard(reason)
            if not self._reasons:
                gc.set_threshold(*self._thresholds)


_FULL_COLLECTIONS = _FullCollections()


class LargeRequests:
    """The large requests of a dispatcher, and the bytes of their frames that are worked on."""

    def __init__(self) -> None:
        self._bytes = 0
        self._waiting: list[Deferred[None]] = []

    def answer(self, broker: Broker, ctx: RequestContext, frame: memoryview, at: int, api: HandledApi) -> Any:
        """The pieces of the answer to a request whose body begins at ``at`` in ``frame``, or the wait for them; the connection
        handles no other request until this one is handled. Raises CloseConnection, and NotYet if other large requests must
        be worked on first.
        """
        size = len(frame)
        if self._bytes and self._bytes + size > min(MOST_BYTES, broker.runtime.memory.limit // MEMORY_OF_A_BYTE):
            until: Deferred[None] = Deferred()
            self._waiting.append(until)
            raise NotYet(until)
        self._bytes += size
        if self._bytes == size:
            _FULL_COLLECTIONS.put_off(self)
        request = _Large(broker, ctx, api)
        request.handled.settled().map(lambda _: self._ended(size)).or_log("ending the work on a large request")
        copied: Buffer = memoryview(bytearray(frame)) if api.has_records else bytes(frame)
        try:
            found = broker.runtime.slices.run(request.work(copied, at))
        except Exception:
            request.handled.complete(None)
            raise
        if isinstance(found, Deferred) and not found.done:
            found.settled().pass_to(request.handled)
            found.when_abandoned = request.abandon
            if not request.handled.done and ctx.connection is not None:
                ctx.connection.hold(request.handled)
        else:
            request.handled.complete(None)
        return found

    @staticmethod
    def decoded_in_place(api_key: int, frame: memoryview, at: int, version: int) -> Any:
        """The request, if its frame is large because of its records alone: it may be handled at once, and need not be copied. Else
        None. Raises CloseConnection if it is malformed.
        """
        read = sliced(api_key, "read")
        if read is None:
            return None
        elements = 0
        steps = read(frame, at, version)
        try:
            while elements < IN_PLACE:
                elements += next(steps)
        except StopIteration as ended:
            return ended.value[0]
        except WireError as error:
            raise CloseConnection(f"it sent a malformed request ({error})") from error
        return None

    def _ended(self, size: int) -> None:
        """Its work has ended; requests that wait for it try again."""
        self._bytes -= size
        if not self._bytes:
            _FULL_COLLECTIONS.resume(self)
        waiting, self._waiting = self._waiting, []
        for until in waiting:
            until.complete(None)


class HandledApi(Protocol):
    """What the dispatcher does with a decoded request."""

    #: Whether requests have records, which make most of a large frame.
    has_records: bool

    def logs_of(self, broker: Broker, version: int, request: Any, /) -> Iterable[Partition | None]:
        """The partitions whose logs must be open."""
        ...

    def handle(self, broker: Broker, ctx: RequestContext, request: Any, /) -> Answer:
        """Call the handler. Raises CloseConnection, and a KafkaError of any code."""
        ...

    def refusal(self, request: Any, version: int, error: KafkaError, /) -> Any:
        """The response with an error for each item of the request. Raises CloseConnection if the API has none."""
        ...


class _Large:
    """One large request; ``handled`` is done when later requests of its connection may be handled."""

    def __init__(self, broker: Broker, ctx: RequestContext, api: HandledApi) -> None:
        self._broker = broker
        self._ctx = ctx
        self._api = api
        self.handled: Deferred[None] = Deferred()
        self._abandon: Callable[[], None] | None = None
        self._is_abandoned = False

    def abandon(self) -> None:
        """The client is gone: what waits for it is told, also what begins to wait later."""
        self._is_abandoned = True
        if self._abandon is not None:
            self._abandon()

    def work(self, frame: Buffer, at: int) -> Work[Any]:
        """Decode, handle and encode; the result is the pieces of the answer."""
        ctx, broker = self._ctx, self._broker
        request = yield from decoded(ctx.api_key, frame, at, ctx.api_version)
        dormant = broker.dormant
        partitions: dict[Partition | None, None] = {}
        if dormant.partitions or dormant.new:
            for partition in self._api.logs_of(broker, ctx.api_version, request):
                partitions[partition] = None
                yield _WEIGHT
        closed = dormant.closed(partitions)
        if closed:
            return dormant.open(closed).chain(lambda _: as_wait(self._handled(request)))
        return self._handled(request)

    def _handled(self, request: Any) -> Any:
        """The pieces of the answer to the decoded request, or the wait for them."""
        run = self._broker.runtime.slices.run
        return again_when_ready(lambda: run(self._handle(request)))  # as after an injected delay

    def _handle(self, request: Any) -> Work[Any]:
        ctx = self._ctx
        try:
            response = self._api.handle(self._broker, ctx, request)
        except KafkaError as error:
            response = Deferred.failed(error)
        if not ctx.in_slices:
            self.handled.complete(None)
        if isinstance(response, Deferred):
            if not response.done:
                self._abandon = response.abandon
                wait = finished_later(self._broker, ctx, self._api, request, response)
                if self._is_abandoned:
                    response.abandon()
                return wait
            return (yield from _finished(ctx, self._api, request, response))
        return (yield from encoded(ctx, response))


def finished_later(
    broker: Broker, ctx: RequestContext, api: HandledApi, request: Any, response: Deferred[Any]
) -> Deferred[Any]:
    """The wait for the pieces of the answer's frame."""
    run = broker.runtime.slices.run
    return response.fold(lambda done: as_wait(run(_finished(ctx, api, request, done)))).chain(lambda pieces: pieces)


def _finished(ctx: RequestContext, api: HandledApi, request: Any, done: Deferred[Any]) -> Work[Any]:
    """The pieces of the answer's frame, of a response that is there; a KafkaError becomes one."""
    if isinstance(done.error, KafkaError):
        from pykbroker.refusals.in_parts import refused

        error = done.error
        response = yield from refused(request, lambda part: api.refusal(part, ctx.api_version, error))
        return (yield from encoded(ctx, response))
    return (yield from encoded(ctx, done.value))


def decoded(api_key: int, frame: Buffer, at: int, version: int) -> Generator[float, None, Any]:
    """The request whose body begins at ``at``. Raises CloseConnection if it is malformed or names too many things."""
    read = sliced(api_key, "read")
    elements = 0
    try:
        if read is None:
            yield len(frame) / 1024
            return APIS[api_key].request.decode(frame, at, version)[0]
        steps = read(frame, at, version)
        while True:
            try:
                count = next(steps)
            except StopIteration as ended:
                return ended.value[0]
            elements += count
            if elements > MOST_ELEMENTS:
                raise CloseConnection(f"it sent a request that names more than {MOST_ELEMENTS} things")
            yield count * _WEIGHT
    except WireError as error:
        raise CloseConnection(f"it sent a malformed request ({error})") from error


def encoded(ctx: RequestContext, response: Any) -> Work[Any]:
    """The pieces of the answer's frame; None for no response."""
    if response is None:
        return None
    api_key, version = ctx.api_key, ctx.api_version
    out = begin_response(api_key, version, ctx.correlation_id)
    own = getattr(response, "encode_in_slices", None)
    write = sliced(api_key, "write")
    if own is not None:
        yield from _weighed(own(out, version))
    elif write is not None and type(response) is APIS[api_key].response:
        yield from _weighed(write(out, response, version))
    else:
        response.encode(out, version)
    return out.finish()


def _weighed(steps: Generator[int, None, None]) -> Generator[float, None, None]:
    for count in steps:
        yield count * _WEIGHT


@cache
def sliced(api_key: int, name: str) -> Callable[..., Generator[int, None, Any]] | None:
    """``read`` or ``write`` of an API in slices; None if it has no lists."""
    try:
        module = importlib.import_module(f"pykbroker.wire.sliced.{APIS[api_key].module}")
    except ModuleNotFoundError:
        return None
    found: Callable[..., Generator[int, None, Any]] | None = getattr(module, name, None)
    return found
