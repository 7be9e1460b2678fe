"""The dispatcher's step that applies fault rules, present only while there are any."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pykbroker.faults import checks, errors, naming
from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.handlers.in_slices import IN_PLACE, WEIGHT_OF_A_PART, around_a_handler, is_in_place
from pykbroker.refusals import shapes
from pykbroker.refusals.naming import own_names
from pykbroker.requests.large import encoded
from pykbroker.runtime.slices import at_once
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.apis import APIS, ApiKey

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.faults.book import FaultBook, Rule
    from pykbroker.faults.chaos import RequestChaos
    from pykbroker.faults.fault import Fault
    from pykbroker.handlers.contract import Answer
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.refusals.naming import Wanted
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import Peer, RequestContext


#: The most partitions of metadata that chaos copies.
_MOST_COPIED = 2_000
#: The weight of an item of a request or answer, and of a look at one.
_WEIGHT = 0.6
_WEIGHT_OF_LITTLE = 0.1


class FaultStep:
    """See the module; a ``Step`` of the dispatcher."""

    def __init__(self, book: FaultBook) -> None:
        self._book = book
        #: What befalls requests that no rule acts on.
        self.chaos: RequestChaos | None = None
        #: The rules of delayed frames, by correlation id: such a frame is handled a second time.
        self._delayed: WeakKeyDictionary[Peer, dict[int, Rule]] = WeakKeyDictionary()
        #: Throttled connections, whose requests wait.
        self._muted: WeakKeyDictionary[Peer, Deferred[None]] = WeakKeyDictionary()
        #: Clients of which nothing comes for a while.
        self._silent: dict[str, Deferred[None]] = {}
        #: Images that brokers answer Metadata from for a while, by node id: chaos made them old.
        self._old: dict[int, MetadataImage] = {}
        #: Held frames wait for these, which complete when the rule is removed.
        self._held: dict[Rule, Deferred[None]] = {}

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        work = self._attempt(broker, ctx, request, proceed)
        if ctx.api_key == ApiKey.PRODUCE and is_in_place(request):
            return at_once(work)
        return around_a_handler(broker, ctx, work)

    def _attempt(
        self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]
    ) -> Work[Answer]:
        """As again_when_ready: the frame of a request that is worked on in later turns cannot be handed in again."""
        try:
            return (yield from self._take_up(broker, ctx, request, proceed))
        except NotYet as error:
            if not ctx.in_slices:
                raise
            run = broker.runtime.slices.run
            return error.until.settled().chain(lambda _: as_wait(run(self._attempt(broker, ctx, request, proceed))))

    def _take_up(
        self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]
    ) -> Work[Answer]:
        peer = ctx.connection
        if request is None or peer is None:
            return proceed()
        if peer in self._muted:
            raise NotYet(self._muted[peer])
        if self._silent and ctx.client_id in self._silent:
            raise NotYet(self._silent[ctx.client_id])
        waited = self._delayed.get(peer, {}).pop(ctx.correlation_id, None)
        if waited is not None:
            return (yield from self._act(waited, broker, ctx, request, proceed))
        for rule in list(self._book.rules.values()):
            meant = yield from matches(rule.fault, broker, ctx, request)
            if meant and rule.number in self._book.rules and rule.acts():
                self._book.changed(rule)
                return (yield from self._begin(rule, broker, ctx, request, proceed))
        if self.chaos is None:
            return proceed()
        return (yield from self._befall(self.chaos, broker, ctx, request, proceed))

    def _befall(
        self, chaos: RequestChaos, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]
    ) -> Work[Answer]:
        befalls = chaos.choose(ctx.client_id, ctx.api_key, ctx.api_version)
        if befalls is not None and befalls.fault.stale:
            self._grow_old(broker, befalls.fault.delay or 0)
        elif befalls is not None:
            return (yield from self._begin(befalls, broker, ctx, request, proceed))
        if ctx.api_key == ApiKey.METADATA and broker.node_id in self._old:
            return _stale(self._old[broker.node_id], ctx, request, proceed)
        return proceed()

    def _grow_old(self, broker: Broker, ms: int) -> None:
        """Have a broker answer from its present metadata for a while, whatever changes; of a small cluster, since it is copied."""
        image, node_id = broker.metadata.image, broker.node_id
        if node_id in self._old or len(image.topics) > _MOST_COPIED:
            return
        if sum(len(topic.partitions) for topic in image.topics.values()) > _MOST_COPIED:
            return
        self._old[node_id] = old_image(image)
        broker.runtime.client_timers.pause(ms).map(lambda _: self._old.pop(node_id, None)).or_log("ending old metadata")

    @property
    def silent(self) -> frozenset[str]:
        """The clients of which nothing comes at present."""
        return frozenset(self._silent)

    def silence(self, runtime: Runtime, client: str, ms: int) -> None:
        """Let nothing of a client come for a while; then what it had sent comes, if its connections are still there."""
        if client in self._silent:
            return
        self._silent[client] = silent = runtime.client_timers.pause(ms)
        silent.map(lambda _: self._silent.pop(client, None)).or_log("ending a silence")

    def held(self, rule: Rule) -> Deferred[None]:
        """What is done when a rule that holds requests is removed."""
        return self._held.setdefault(rule, Deferred())

    def released(self, rule: Rule) -> None:
        """Let the requests continue that a removed rule held."""
        held = self._held.pop(rule, None)
        if held is not None:
            held.complete(None)

    def forget(self) -> None:
        """Forget the connections that are delayed or throttled: they end."""
        self._delayed.clear()
        self._muted.clear()
        self._silent.clear()
        self._old.clear()

    @property
    def is_muting(self) -> bool:
        """Whether any connection is still throttled, or any client silent."""
        return bool(self._muted or self._silent)

    def _begin(
        self, rule: Rule, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]
    ) -> Work[Answer]:
        """Hold or delay the whole frame, so that no later request of its connection overtakes it; otherwise act."""
        fault = rule.fault
        if fault.hold:
            raise NotYet(self.held(rule))
        if fault.delay is not None and not fault.after:
            assert ctx.connection is not None
            self._delayed.setdefault(ctx.connection, {})[ctx.correlation_id] = rule
            raise NotYet(broker.runtime.client_timers.pause(fault.delay))
        return (yield from self._act(rule, broker, ctx, request, proceed))

    def _act(
        self, rule: Rule, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]
    ) -> Work[Answer]:
        fault = rule.fault
        if fault.error is not None:
            return (yield from errors.refuse(fault, broker, ctx, request, proceed))
        if fault.drop or fault.close:
            return _unanswered(fault, request, proceed)
        if fault.duplicate:
            return (yield from _twice(ctx, request, proceed))
        if fault.short:
            request.max_bytes = 1  # Kafka answers with one batch at least, where there is one
        if fault.stale:
            return _stale(rule.kept, ctx, request, proceed)
        answer = proceed()
        if fault.delay is not None and fault.after:
            return _later(broker.runtime, fault.delay, answer)
        change: Callable[[Any], Work[Any]] | None = None
        if fault.truncate is not None:
            change = partial(_cut_off, ctx, fault.truncate)
        elif fault.corrupt:
            change = partial(corrupted, naming.wanted(fault, broker.metadata.image))
        elif fault.leader is not None:
            change = partial(_led_by, fault.leader, naming.wanted(fault, broker.metadata.image))
        elif fault.throttle is not None:
            change = partial(self._throttled, broker, ctx, request, fault.throttle)
        return answer if change is None else (yield from errors.changed(broker, answer, change))

    def _throttled(self, broker: Broker, ctx: RequestContext, request: Any, ms: int, response: Any) -> Work[Any]:
        """Answer at once with the throttle time, a Fetch or ShareFetch without records, and mute the connection, as Kafka does."""
        if ctx.api_key == ApiKey.FETCH:
            response = yield from broker.fetch_sessions.emptied(request, response)
        elif ctx.api_key == ApiKey.SHARE_FETCH:
            response = yield from broker.share_partitions.emptied(request, response)
        if shapes.carries_throttle(type(response), ctx.api_version):
            response.throttle_time_ms = ms
        peer = ctx.connection
        assert peer is not None
        muted = self._muted[peer] = broker.runtime.client_timers.pause(ms)
        muted.map(lambda _: self._muted.pop(peer, None)).or_log("ending a throttle")
        return response


def matches(fault: Fault, broker: Broker, ctx: RequestContext, request: Any) -> Work[bool]:
    """Whether a rule matches a request."""
    if fault.api not in ("*", APIS[ctx.api_key].name):
        return False
    low, high = checks.version_range(fault)
    if not low <= ctx.api_version <= high:
        return False
    if fault.broker is not None and fault.broker != broker.node_id:
        return False
    for pattern, text in (
        (fault.client, ctx.client_id),
        (fault.principal, ctx.principal),
        (fault.listener, ctx.listener),
    ):
        if pattern is not None and not naming.like(pattern, text):
            return False
    wanted = naming.wanted(fault, broker.metadata.image)
    if wanted is None:
        return True
    for names in naming.all_names(request, broker):
        if wanted(names):
            return True
        yield _WEIGHT
    return False


def _later(runtime: Runtime, ms: int, answer: Answer) -> Answer:
    ready = answer if isinstance(answer, Deferred) else Deferred.completed(answer)
    return ready.chain(lambda response: runtime.client_timers.pause(ms).map(lambda _: response))


def _unanswered(fault: Fault, request: Any, proceed: Callable[[], Answer]) -> Answer:
    """Drop or close. Later requests on a connection with a dropped one are not answered either, since answers keep their order."""
    answer = proceed() if fault.after else None
    if fault.drop:
        return Deferred()
    if isinstance(answer, Deferred):
        return answer.settled().chain(lambda _: Deferred.failed(_closing(request)))
    raise _closing(request)


def _closing(request: Any) -> CloseConnection:
    return CloseConnection(f"a fault closes it at {type(request).__name__}")


def _twice(ctx: RequestContext, request: Any, proceed: Callable[[], Answer]) -> Work[Answer]:
    """Handle the request twice and answer the second time, as if the first answer was lost and the client sent it again.
    Batches are copied before, since appending patches them in place.
    """
    sent, items = [], 0
    for topic in request.topic_data if ctx.api_key == ApiKey.PRODUCE else ():
        for data in topic.partition_data:
            yield _WEIGHT
            items += 1
            if data.records:
                sent.append((data, bytearray(data.records)))
    first = proceed()
    yield WEIGHT_OF_A_PART if items > IN_PLACE else 0  # the handler's first steps
    for data, records in sent:
        data.records = records
        yield _WEIGHT_OF_LITTLE
    second = proceed()
    if not isinstance(first, Deferred):
        return second
    again = second if isinstance(second, Deferred) else Deferred.completed(second)
    return first.settled().chain(lambda _: again)


def _cut_off(ctx: RequestContext, size: int, response: Any) -> Work[Any]:
    pieces: Any = yield from encoded(ctx, response)
    sent = b"".join(map(bytes, pieces))[:size]
    raise CloseConnection(f"a fault closes it after {len(sent)} bytes of an answer", sent)


def corrupted(wanted: Wanted | None, response: Any) -> Work[Any]:
    """A Fetch response with the last byte of each partition's batches changed, so that the checksum is wrong."""
    for topic in response.responses:
        for partition in topic.partitions:
            yield _WEIGHT
            names = own_names(partition, own_names(topic, {}))
            if partition.records and (wanted is None or wanted(names)):
                pieces = partition.records if isinstance(partition.records, list) else [partition.records]
                records = bytearray(b"".join(map(bytes, pieces)))
                records[-1] ^= 0xFF
                partition.records = bytes(records)
    return response


def _led_by(leader: int, wanted: Wanted | None, response: Any) -> Work[Any]:
    response = yield from errors.ours(response)
    for topic in response.topics:
        for partition in topic.partitions:
            yield _WEIGHT
            if wanted is None or wanted(own_names(partition, own_names(topic, {}))):
                partition.leader_id = leader
    return response


def old_image(image: MetadataImage) -> MetadataImage:
    """A copy of the present metadata image."""
    return copy.deepcopy(image)


def _stale(image: MetadataImage, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]) -> Answer:
    """Answer from the old image. No topic is created."""
    request.allow_auto_topic_creation = False
    ctx.as_of = image
    return proceed()
