"""Answers for each partition of a request, topic by topic, with requests of others in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.runtime.waits import Deferred, gather

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Work

R = TypeVar("R")
T = TypeVar("T")


def each_partition(
    topics: Iterable[Any],
    ask: Callable[[Any, Any], Deferred[R]],
    result: Callable[[Any, list[R]], T],
    *,
    weight: float,
) -> Work[list[T]]:
    """``result`` of each topic and its answers; ``ask`` is called with a topic and each of its ``partitions``, and its waits do
    not fail. ``weight`` is that of one of these calls.
    """
    found: list[Deferred[T]] = []
    for topic in topics:
        waits: list[Deferred[R]] = []
        for asked in topic.partitions:
            waits.append(ask(topic, asked))
            yield weight
        found.append(gather(waits).map(lambda answers, topic=topic: result(topic, answers)))  # type: ignore[misc]
        yield 1
    return gather(found)
