"""The dispatcher step that applies quotas, present only while there are any.

As in Kafka, a request above a quota is answered at once with its throttle_time_ms, and the connection is muted for that time.
Use is recorded when the response is built: the size of a Produce request, the size of a Fetch or ShareFetch response, which has
no records above the quota. Request time is the time in the handler, recorded with the response, and what ``request_time.py``
records after it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pykbroker.handlers.in_slices import in_slices, is_small
from pykbroker.quotas.limits import Limit
from pykbroker.quotas.mutations import CHARGED_APIS, milliseconds
from pykbroker.quotas.request_time import ConnectionTime
from pykbroker.quotas.usage import RateUsage, TokenUsage
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.frames import FrameWriter

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.partitions.fetch_sessions import FetchSessions
    from pykbroker.runtime.clock import Clock
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.share_partitions.manager import SharePartitions
    from pykbroker.wire.messages.fetch import FetchResponse
    from pykbroker.wire.messages.share_fetch import ShareFetchResponse

_PRODUCE: Final = int(ApiKey.PRODUCE)
_FETCH: Final = int(ApiKey.FETCH)
_FETCHES: Final = (_FETCH, int(ApiKey.SHARE_FETCH))
#: Requests between brokers are not throttled.
_EXEMPT: Final = frozenset(map(int, (ApiKey.WRITE_TXN_MARKERS,)))


class BrokerUsage:
    """The use of quotas that are counted per broker."""

    def __init__(self, produce: RateUsage, fetch: RateUsage, time: RateUsage) -> None:
        self.produce = produce
        self.fetch = fetch
        self.time = time

    def rest_of(self, ctx: RequestContext, limit: Limit, clock: Clock) -> ConnectionTime:
        """Return what records the time of the request's connection outside handlers, from now on against ``limit``."""
        peer = ctx.connection
        assert peer is not None
        rest = peer.time_spent
        if type(rest) is not ConnectionTime:
            rest = peer.time_spent = ConnectionTime(self.time, clock, limit)
        rest.limit = limit
        return rest


class ThrottleStep:
    """See the module; a ``Step``. ``usage`` returns a broker's use; ``mutations`` is counted for all brokers together."""

    def __init__(self, usage: Callable[[int], BrokerUsage], mutations: TokenUsage, clock: Clock) -> None:
        self._usage = usage
        self._mutations = mutations
        self._clock = clock

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        if request is None or ctx.connection is None:
            return proceed()
        return _Measured(self, broker, ctx, request).run(proceed)

    def is_charged(self, api_key: int, user: str, client: str) -> bool:
        """Whether the controller charges a request to a mutation quota, and its answer says how long the client is throttled."""
        return api_key in CHARGED_APIS and self._mutations.limits.of(user, client) is not None

    def usage_on(self, broker: Broker) -> BrokerUsage:
        return self._usage(broker.node_id)

    @property
    def clock(self) -> Clock:
        return self._clock


class _Measured:
    """One request, measured while it is handled."""

    def __init__(self, step: ThrottleStep, broker: Broker, ctx: RequestContext, request: Any) -> None:
        self._broker = broker
        self._ctx = ctx
        self._request = request
        self._clock = step.clock
        self._seconds = 0.0
        #: Where the rest of the request's time is recorded, if a quota of time applies to it.
        self._rest: ConnectionTime | None = None
        self._usage = step.usage_on(broker)
        self._who = user, client = ctx.user, ctx.client_id or ""
        self._read_limits()
        self._is_charged = step.is_charged(ctx.api_key, user, client)

    def _read_limits(self) -> None:
        key, usage, (user, client) = self._ctx.api_key, self._usage, self._who
        self._produce = usage.produce.limits.of(user, client) if key == _PRODUCE else None
        self._fetch = usage.fetch.limits.of(user, client) if key in _FETCHES else None
        self._time = None if self._is_exempt() else usage.time.limits.of(user, client)

    def run(self, proceed: Callable[[], Answer]) -> Answer:
        if not any((self._produce, self._fetch, self._time, self._is_charged)):
            return proceed()
        if self._fetch is not None:
            most = int(self._fetch.bound * self._usage.fetch.windows.burst_s)
            self._request.max_bytes = min(self._request.max_bytes, most)
        if self._time is not None:
            self._rest = self._usage.rest_of(self._ctx, self._time, self._clock)
        began = self._clock.monotonic()
        try:
            answer = proceed()
        except KafkaError as error:
            self._handled_since(began)
            self._refused(error)
        self._handled_since(began)
        if isinstance(answer, Deferred):
            measured = answer.chain(lambda response: as_wait(self._measured_later(response)))
            later: Deferred[Any] = measured.recover(KafkaError, self._refused)
            later.when_abandoned = answer.abandon
            return later
        throttled: Answer = self._measured(answer)
        return throttled

    def _handled_since(self, began: float) -> None:
        self._seconds = self._clock.monotonic() - began
        if self._rest is not None:
            self._rest.handled(self._seconds)

    def _is_exempt(self) -> bool:
        key = self._ctx.api_key
        return key in _EXEMPT or (key == _PRODUCE and self._request.acks == 0)

    # ---- the response ------------------------------------------------------------------------------------------------

    def _measured_later(self, response: Any) -> Any:
        """A request that waited is throttled by the quotas of now, as in Apache Kafka, not by those of when it came."""
        if self._rest is not None:
            self._rest.resumed()
        self._read_limits()
        return self._measured(response)

    def _measured(self, response: Any) -> Any:
        if self._ctx.api_key in _FETCHES:
            return in_slices(self._broker, self._ctx, self._fetched(response))
        return self._throttled(response, self._wait_ms(response))

    def _refused(self, error: KafkaError) -> NoReturn:
        """Record an error's time too. The throttle time goes with the error, whose response is built elsewhere."""
        throttle_ms = self._wait_ms(error)
        if throttle_ms:
            error.throttle_time_ms = throttle_ms
            self._mute(throttle_ms)
        raise error

    def _wait_ms(self, outcome: Any) -> int:
        """Record the use; the time for which the client is throttled, for a charged change what its outcome says at least."""
        now = milliseconds(self._clock)
        throttle_ms = 0
        if self._time is not None:
            throttle_ms = self._usage.time.record(self._time, self._seconds * 100, now)
        if self._produce is not None:
            throttle_ms = max(throttle_ms, self._usage.produce.record(self._produce, self._ctx.size, now))
        if self._is_charged:
            throttle_ms = max(throttle_ms, outcome.throttle_time_ms)
        return throttle_ms

    def _fetched(self, response: Any) -> Work[Any]:
        """Whichever quota is reached, the answer has no records, and does not count."""
        limit, size = self._fetch, 0
        if limit is not None:
            size = yield from _size(response, self._ctx.api_version)
        now = milliseconds(self._clock)
        throttle_ms = self._wait_ms(response)
        if limit is not None:
            throttle_ms = max(throttle_ms, self._usage.fetch.record(limit, size, now))
        if throttle_ms:
            if limit is not None:
                self._usage.fetch.take_back(limit, size, now)
            response = yield from self._fetches().emptied(self._request, response)
        return self._throttled(response, throttle_ms)

    def _fetches(self) -> FetchSessions | SharePartitions:
        """What the records of the answer are of."""
        return self._broker.fetch_sessions if self._ctx.api_key == _FETCH else self._broker.share_partitions

    def _throttled(self, response: Any, throttle_ms: int) -> Any:
        if throttle_ms:
            if hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = max(throttle_ms, response.throttle_time_ms)
            self._mute(throttle_ms)
        return response

    def _mute(self, throttle_ms: int) -> None:
        assert self._ctx.connection is not None
        self._ctx.connection.mute(throttle_ms)


def _size(response: FetchResponse | ShareFetchResponse, version: int) -> Generator[float, None, int]:
    """Bytes of the encoded response with its size field, without copying records."""
    out = FrameWriter()
    write = None
    if not is_small(response.responses):
        from pykbroker.requests.large import sliced

        write = sliced(response.API_KEY, "write")
    if write is None:
        response.encode(out, version)
    else:
        yield from write(out, response, version)
    return len(out) + sum(len(records) for _, records in out.cuts)
