"""Asks share coordinators about many partitions of a group, with other work in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pykbroker.coordination.share.state import SharePartitionKey
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Work

T = TypeVar("T")

#: Of questions that are answered by nothing but an error.
Answers = dict[SharePartitionKey, KafkaError | None]

#: The weight of a question to the share coordinator, which may append a record, and create the log for it.
_WEIGHT = 60


def ask_each(
    group_id: str, topics: Mapping[bytes, frozenset[int]], question: Callable[[SharePartitionKey], Deferred[T]]
) -> Work[dict[SharePartitionKey, T | KafkaError]]:
    """The answer for each partition, or its error."""
    waits: dict[SharePartitionKey, Deferred[T | KafkaError]] = {}
    for topic_id, partitions in topics.items():
        for index in sorted(partitions):
            key = SharePartitionKey(group_id, topic_id, index)
            waits[key] = attempt(question, key).map(_answer).recover(KafkaError, _error)
            yield _WEIGHT
    return gather(list(waits.values())).map(lambda answers: dict(zip(waits, answers, strict=True)))


def _answer(answer: T) -> T | KafkaError:
    return answer


def _error(error: KafkaError) -> KafkaError:
    return error
