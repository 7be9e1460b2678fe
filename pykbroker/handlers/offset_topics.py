"""OffsetCommit, TxnOffsetCommit and OffsetDelete: partitions that do not exist are refused, the others are for the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Container
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykbroker.handlers.in_slices import AT_ONCE, WEIGHT_OF_A_PART, in_parts, in_slices, is_small, join_parts
from pykbroker.runtime.waits import Deferred, all_of, apply
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext


class WithTopics(Protocol):
    """A request or a response with topics, each with its partitions."""

    topics: list[Any]


R = TypeVar("R", bound=WithTopics)

#: The partitions of a topic of the request that exist, and the answer for the others, None without others.
Known = Callable[[Any], tuple[list[Any], Any | None]]


def answer(
    broker: Broker,
    ctx: RequestContext,
    request: WithTopics,
    response: Callable[[], R],
    known: Known,
    ask: Callable[[Any], R | Deferred[R]],
) -> R | Deferred[R]:
    """The answer for a request about the partitions of topics; ``ask`` asks the coordinator for those that exist, many of them in
    parts, each of which is checked anew against the group, appended and replayed: requests of others may come in between.
    """
    if not is_small(request.topics):
        return in_slices(broker, ctx, _in_parts(request, response, known, ask))
    refused = response()
    request.topics = _taken_apart(request.topics, known, refused)
    if not request.topics:
        return refused
    return apply(partial(_merged, refused), ask(request)) if refused.topics else ask(request)


def _in_parts(
    request: WithTopics, response: Callable[[], R], known: Known, ask: Callable[[Any], R | Deferred[R]]
) -> Work[R]:
    refused = response()
    there: list[Any] = []
    for part in in_parts(request.topics):
        missing = response()
        join_parts(there, _taken_apart(part, known, missing), _which)
        join_parts(refused.topics, missing.topics, _which)
        yield AT_ONCE
    answers: list[R | Deferred[R]] = []
    for part in in_parts(there) if there else ():
        some = copy(request)
        some.topics = part
        answers.append(ask(some))
        yield WEIGHT_OF_A_PART

    def joined(found: list[R]) -> R:
        rest = response()
        for each in found:
            join_parts(rest.topics, each.topics, _which)
        return _merged(refused, rest)

    return apply(joined, all_of(answers))


def _taken_apart(topics: list[Any], known: Known, refused: WithTopics) -> list[Any]:
    """The topics with their partitions that exist; the answers for others go to ``refused``."""
    rest = []
    for topic in topics:
        there, missing = known(topic)
        if missing is None:
            rest.append(topic)
            continue
        refused.topics.append(missing)
        if there:
            some = copy(topic)
            some.partitions = there
            rest.append(some)
    return rest


def partitions_that_exist(
    broker: Broker, of_topic: Callable[..., Any], of_partition: Callable[..., Any], topic: Any, *, by_id: bool
) -> tuple[list[Any], Any | None]:
    """The partitions of a topic that exist, and the answer for the others, made by ``of_topic`` and ``of_partition``; None without
    others. ``by_id`` says that the request names topics by their ids. The topic then has its name, and if it exists, its id.
    """
    image = broker.metadata.image
    if by_id:
        topic.name = broker.topic_name(topic.topic_id) or ""
    found = image.topics.get(topic.name)
    exist: Container[int] = ()
    if found is not None:
        exist = found.partitions.keys()
        topic.topic_id = found.id  # stored with the offset, also if the client gave a name alone
    absent = [each.partition_index for each in topic.partitions if each.partition_index not in exist]
    if not absent:
        return topic.partitions, None
    code = ErrorCode.UNKNOWN_TOPIC_ID if by_id and found is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    missing = [of_partition(partition_index=index, error_code=code) for index in absent]
    there = [each for each in topic.partitions if each.partition_index in exist]
    return there, of_topic(name=topic.name, topic_id=topic.topic_id, partitions=missing)


def _which(topic: Any) -> str | bytes:
    named: str | bytes = topic.name or getattr(topic, "topic_id", b"")
    return named


def _merged(refused: R, rest: R) -> R:
    """Both answers merged; in a topic that is in both, the refused partitions come first, as in Kafka."""
    by_name = {topic.name: topic for topic in refused.topics}
    for topic in rest.topics:
        first = by_name.get(topic.name)
        if first is None:
            refused.topics.append(topic)
        else:
            first.partitions += topic.partitions
    return refused
