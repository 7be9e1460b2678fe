"""CreatePartitions (key 37, versions 0 to 3): give topics more partitions (KIP-195).

``count`` is the total number of partitions. ``assignments`` names the brokers of each new partition; null lets the
controller place them. With ``validate_only`` nothing is created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.topics import NewPartitions
from pykbroker.handlers.charging import charged_client
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: CreatePartitionsRequest) -> Deferred[CreatePartitionsResponse]:
    once: dict[str, CreatePartitionsTopic] = {}
    refused: dict[str, CreatePartitionsTopicResult] = {}
    for topic in request.topics:
        if topic.name in once:
            error = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            refused[topic.name] = _result(topic.name, error)
        once[topic.name] = topic
    wanted = [_new_partitions(topic) for name, topic in once.items() if name not in refused]

    def answer(done: Charged[list[tuple[str, KafkaError | None]]]) -> CreatePartitionsResponse:
        results = [*refused.values(), *(_result(name, error) for name, error in done.result)]
        return CreatePartitionsResponse(done.throttle_time_ms, results)

    asked = broker.cluster.controller.create_partitions(
        wanted, validate_only=request.validate_only, client=charged_client(ctx, strict_since=3)
    )
    return asked.map(answer)


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
