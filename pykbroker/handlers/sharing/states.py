"""Asks the share coordinators about many partitions of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pykbroker.coordination.groups.share.offsets import begin_deletion
from pykbroker.coordination.share.state import SharePartitionKey
from pykbroker.runtime.waits import Deferred, as_wait, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work

T = TypeVar("T")

#: The weight of a question to the share coordinator, which may append a record.
_WEIGHT = 4


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


def forget_group(broker: Broker, group_id: str) -> Deferred[None]:
    """Forget all state of a share group that is about to be deleted; of no other group there is any.

    Raises, or fails with, the KafkaError of a coordinator.
    """

    def forget(topics: dict[bytes, frozenset[int]] | None) -> Deferred[None]:
        if not topics:
            return Deferred.completed(None)
        asked = ask_each(group_id, topics, broker.share_states.delete)
        return as_wait(broker.cluster.runtime.slices.run(asked)).map(_check_all)

    return as_wait(broker.groups.ask(group_id, begin_deletion, group_id)).chain(forget)


def _check_all(answers: dict[SharePartitionKey, KafkaError | None]) -> None:
    for error in answers.values():
        if error is not None and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise error
