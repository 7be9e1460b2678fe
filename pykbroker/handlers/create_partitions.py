"""CreatePartitions (key 37, versions 0 to 3): give topics more partitions (KIP-195).

``count`` is the total number of partitions. ``assignments`` names the brokers of each new partition; null lets the
controller place them. With ``validate_only`` nothing is created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.topics import NewPartitions
from pykbroker.handlers.in_slices import flat, in_slices, in_turn
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Topics that are given partitions together.
_AT_ONCE = 50
#: The weight of looking at a topic of the request.
_WEIGHT = 0.3


def handle(
    broker: Broker, ctx: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse | Deferred[CreatePartitionsResponse]:
    return in_slices(broker, ctx, _work(broker, ctx, request))


def _work(broker: Broker, ctx: RequestContext, request: CreatePartitionsRequest) -> Work[CreatePartitionsResponse]:
    once: dict[str, CreatePartitionsTopic] = {}
    refused: dict[str, CreatePartitionsTopicResult] = {}
    for topic in request.topics:
        if topic.name in once:
            error = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            refused[topic.name] = _result(topic.name, error)
        once[topic.name] = topic
        yield _WEIGHT
    wanted: list[NewPartitions] = []
    for name, topic in once.items():
        if name not in refused:
            wanted.append(_new_partitions(topic))
        yield _WEIGHT

    def create(some: Sequence[NewPartitions]) -> Deferred[list[CreatePartitionsTopicResult]]:
        created = broker.cluster.controller.create_partitions(
            some, validate_only=request.validate_only, may_change=ctx.may_change
        )
        return created.map(lambda done: [_result(name, error) for name, error in done])

    answered = in_turn(broker, ctx, wanted, create, _AT_ONCE)
    return answered.map(lambda results: CreatePartitionsResponse(results=[*refused.values(), *flat(results)]))


def failed(request: CreatePartitionsRequest, version: int, error: KafkaError) -> CreatePartitionsResponse:
    """The request as a whole is refused: every topic carries the error."""
    del version
    return CreatePartitionsResponse(results=[_result(topic.name, error) for topic in request.topics])


def _new_partitions(topic: CreatePartitionsTopic) -> NewPartitions:
    assignments = None if topic.assignments is None else [given.broker_ids for given in topic.assignments]
    return NewPartitions(topic.name, topic.count, assignments)


def _result(name: str, error: KafkaError | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.given_message,
    )
