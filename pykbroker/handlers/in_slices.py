"""Requests that name many items: the work is divided over turns of the loop, with requests of others in between.

A handler writes its loop as a generator that yields the weight of each item (``runtime/slices.py``) and returns the
response. A few items are answered at once, without a wait. Otherwise the connection handles no further request until this
one is answered, as Apache Kafka handles one request of a connection at a time: so a later commit is not overtaken by the
rest of an earlier one, and a client has one such request in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast, overload

from pykbroker.runtime.waits import Deferred, attempt

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Slices, Steps, Work
    from pykbroker.security.context import RequestContext

T = TypeVar("T")
U = TypeVar("U")

#: The most things of a request with records that is worked on at once, so that its frame need not be copied.
IN_PLACE = 400
#: Partitions of a request that are appended and replayed together, and their weight.
AT_ONCE = 200
WEIGHT_OF_A_PART = 500
#: The weight of a look at an item, of a question to the authorizer, and of those about all operations on a resource.
WEIGHT_OF_LITTLE = 0.1
WEIGHT_OF_A_QUESTION = 1
WEIGHT_OF_OPERATIONS = 5


def in_slices(broker: Broker, ctx: RequestContext, work: Work[T]) -> T | Deferred[T]:
    """The result of ``work``, or the wait for it. Raises what its first steps raise; the wait fails with what later ones raise."""
    found = broker.runtime.slices.run(work)
    if isinstance(found, Deferred) and not found.done:
        ctx.in_slices = True
    return found


def around_a_handler(broker: Broker, ctx: RequestContext, work: Work[T]) -> T | Deferred[T]:
    """As ``in_slices``, for work that calls the handler: what that waits for holds up no later request, as without this work."""
    is_over = False

    def steps() -> Work[T]:
        nonlocal is_over
        try:
            return (yield from work)
        finally:
            is_over = True

    found = broker.runtime.slices.run(steps())
    ctx.in_slices = ctx.in_slices or not is_over
    return found


@overload
def each(
    broker: Broker,
    ctx: RequestContext,
    items: Sequence[U],
    answer: Callable[[U], Deferred[T]],
    *,
    weight: float = 1,
    once: Callable[[U], Hashable] | None = None,
) -> list[T] | Deferred[list[T]]: ...


@overload
def each(
    broker: Broker,
    ctx: RequestContext,
    items: Sequence[U],
    answer: Callable[[U], T],
    *,
    weight: float = 1,
    once: Callable[[U], Hashable] | None = None,
) -> list[T] | Deferred[list[T]]: ...


def each(
    broker: Broker,
    ctx: RequestContext,
    items: Sequence[U],
    answer: Callable[[U], Any],
    *,
    weight: float = 1,
    once: Callable[[U], Hashable] | None = None,
) -> list[Any] | Deferred[list[Any]]:
    """``answer`` of each item, in order; see ``Slices.each``."""
    found = broker.runtime.slices.each(items, answer, weight=weight, once=once)
    if isinstance(found, Deferred) and not found.done:
        ctx.in_slices = True
    return found


class OfPartitions(Protocol):
    """A topic of a request or response, with a list of partitions."""

    partitions: list[Any]


P = TypeVar("P", bound=OfPartitions)


def is_small(topics: Sequence[OfPartitions], at_once: int = AT_ONCE) -> bool:
    """Whether the topics have so few partitions together that they are worked on at once."""
    if len(topics) == 1:  # the usual case
        return len(topics[0].partitions) <= at_once
    return len(topics) + sum([len(topic.partitions) for topic in topics]) <= at_once


def is_in_place(request: Any) -> bool:
    """Whether the records of a Produce may be slices of the receive block, which are gone after this turn: then it has few."""
    return request is not None and sum([1 + len(topic.partition_data) for topic in request.topic_data]) <= IN_PLACE


def in_parts(topics: Iterable[P]) -> Iterator[list[P]]:
    """The topics in parts that ``is_small`` accepts; one that is divided is copied, with some of its partitions in each."""
    part: list[P] = []
    room = AT_ONCE
    for topic in topics:
        partitions = topic.partitions
        begin = 0
        while True:
            if room <= 1:
                yield part
                part, room = [], AT_ONCE
            some = partitions[begin : begin + room - 1]
            if len(some) == len(partitions):
                part.append(topic)
            else:
                piece = copy(topic)
                piece.partitions = some
                part.append(piece)
            room -= 1 + len(some)
            begin += len(some)
            if begin >= len(partitions):
                break
    yield part


def join_parts(topics: list[P], more: Iterable[P], name: Callable[[P], object]) -> None:
    """Add ``more`` to the topics; a topic that goes on with the last one, by its ``name``, is joined to it."""
    for topic in more:
        if topics and name(topics[-1]) == name(topic):
            topics[-1].partitions += topic.partitions
        else:
            topics.append(topic)


def in_turn(
    broker: Broker, ctx: RequestContext, items: Sequence[U], ask: Callable[[Sequence[U]], Deferred[T]], at_once: int
) -> Deferred[list[T]]:
    """The results of ``ask`` for the items, ``at_once`` at a time: the next ones are asked when the previous are answered, in a
    turn of their own. For changes by the controller, which decides each by itself and then publishes it.
    """
    if len(items) <= at_once:
        return ask(items).map(lambda result: [result])
    ctx.in_slices = True
    asking = _InTurn(broker.runtime.slices, items, ask, at_once)
    return asking.begin()


class _InTurn(Generic[U, T]):
    """Functions that call each other would be a cycle, which keeps items and results until it is collected."""

    def __init__(
        self, slices: Slices, items: Sequence[U], ask: Callable[[Sequence[U]], Deferred[T]], at_once: int
    ) -> None:
        self._slices = slices
        self._items = items
        self._ask = ask
        self._at_once = at_once
        self._over: Deferred[list[T]] = Deferred()
        self._results: list[T] = []

    def begin(self) -> Deferred[list[T]]:
        self._slices.add(self._from(0))
        return self._over

    def _from(self, begin: int) -> Steps:
        end = begin + self._at_once
        attempt(self._ask, self._items[begin:end]).map(partial(self._answered, end)).pass_failure_to(self._over)
        yield WEIGHT_OF_A_PART

    def _answered(self, end: int, result: T) -> None:
        self._results.append(result)
        if end < len(self._items):
            self._slices.add(self._from(end))
        else:
            self._over.complete(self._results)


def flat(parts: Iterable[Iterable[T]]) -> list[T]:
    """The items of all parts, in order."""
    return [item for part in parts for item in part]


def mapped(
    items: Iterable[U], function: Callable[[U], T], weight: float = 2 * WEIGHT_OF_LITTLE
) -> Generator[float, None, list[T]]:
    """``function`` of each item, for a handler that goes on with all of them."""
    results: list[T] = []
    for item in items:
        results.append(function(item))
        yield weight
    return results


def kept(
    items: Iterable[U], keeps: Callable[[U], object], weight: float = WEIGHT_OF_LITTLE
) -> Generator[float, None, list[U]]:
    """The items of which ``keeps`` is true."""
    found: list[U] = []
    for item in items:
        if keeps(item):
            found.append(item)
        yield weight
    return found


def whole(work: Generator[float, None, T]) -> T:
    """The result of work that is done at once, since it is the answer to an error or small."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            return cast("T", ended.value)
