"""CreatePartitions (key 37, versions 0 to 3): give topics more partitions (KIP-195).

``count`` is the total number of partitions. ``assignments`` names the brokers of each new partition; null lets the
controller place them. With ``validate_only`` nothing is created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.mutation_quotas import Charged
from pykbroker.controller.topics import NewPartitions
from pykbroker.handlers.charging import charged_client, joined
from pykbroker.handlers.in_slices import in_slices, in_turn
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

    client = charged_client(ctx, strict_since=3)

    def create(some: Sequence[NewPartitions]) -> Deferred[Charged[list[CreatePartitionsTopicResult]]]:
        created = broker.controller.create_partitions(some, validate_only=request.validate_only, client=client)
        return created.map(
            lambda done: Charged([_result(name, error) for name, error in done.result], done.throttle_time_ms)
        )

    def answer(parts: list[Charged[list[CreatePartitionsTopicResult]]]) -> CreatePartitionsResponse:
        created = joined(parts)
        return CreatePartitionsResponse(created.throttle_time_ms, [*refused.values(), *created.result])

    return in_turn(broker, ctx, wanted, create, _AT_ONCE).map(answer)


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
