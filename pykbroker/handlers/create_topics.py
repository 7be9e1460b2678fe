"""CreateTopics (key 19, versions 2 to 7).

- With ``validate_only`` nothing is created. -1 for partitions and replication factor means the broker's default (KIP-464).
- v5: the answer describes the new topic: partitions, replication factor, effective settings (KIP-525). v7: its id.

A topic's partitions can be used when the answer leaves, which waits for the metadata log alone, so ``timeout_ms`` is ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.config.topic_configs import effective_topic_configs
from pykbroker.controller.mutation_quotas import Charged
from pykbroker.controller.topics import NewTopic, TopicResult
from pykbroker.handlers.charging import charged_client, joined
from pykbroker.handlers.in_slices import in_slices, in_turn
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Topics that are created together, and the most partitions of a request, as in Apache Kafka.
_AT_ONCE = 20
#: The weight of looking at a topic of the request.
_WEIGHT = 0.3
_MOST_PARTITIONS = 10_000


def handle(
    broker: Broker, ctx: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse | Deferred[CreateTopicsResponse]:
    return in_slices(broker, ctx, _work(broker, ctx, request))


def _work(broker: Broker, ctx: RequestContext, request: CreateTopicsRequest) -> Work[CreateTopicsResponse]:
    once: dict[str, CreatableTopic] = {}
    refused: dict[str, CreatableTopicResult] = {}
    partitions = 0
    for topic in request.topics:
        if topic.name in once:
            refused[topic.name] = _refusal(topic.name, "Duplicate topic name.")
        once[topic.name] = topic
        partitions += len(topic.assignments) or max(topic.num_partitions, 1)
        yield _WEIGHT
    if partitions > _MOST_PARTITIONS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    wanted: list[NewTopic] = []
    for name, topic in once.items():
        if name not in refused:
            wanted.append(_new_topic(topic))
        yield _WEIGHT
    describe = ctx.api_version >= 5

    client = charged_client(ctx, strict_since=6)

    def create(some: Sequence[NewTopic]) -> Deferred[Charged[list[CreatableTopicResult]]]:
        created = broker.controller.create_topics(some, validate_only=request.validate_only, client=client)
        return created.map(
            lambda done: Charged(
                [_answer(broker, new, result, describe) for new, result in zip(some, done.result, strict=True)],
                done.throttle_time_ms,
            )
        )

    def answer(parts: list[Charged[list[CreatableTopicResult]]]) -> CreateTopicsResponse:
        created = joined(parts)
        return CreateTopicsResponse(created.throttle_time_ms, [*created.result, *refused.values()])

    return in_turn(broker, ctx, wanted, create, _AT_ONCE).map(answer)


def failed(request: CreateTopicsRequest, version: int, error: KafkaError) -> CreateTopicsResponse:
    """The request as a whole is refused: every topic carries the error."""
    del version
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments],
        {config.name: config.value for config in topic.configs},
    )


def _refusal(name: str, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=ErrorCode.INVALID_REQUEST, error_message=message)


def _answer(broker: Broker, new: NewTopic, result: TopicResult, describe: bool) -> CreatableTopicResult:
    if result.error is not None:
        return CreatableTopicResult(name=result.name, error_code=result.error.code, error_message=result.error.message)
    answer = CreatableTopicResult(name=result.name, topic_id=result.topic_id, error_message=None)
    if describe:
        answer.num_partitions = result.partitions
        answer.replication_factor = result.replication_factor
        answer.configs = [
            CreatableTopicConfigs(
                name=config.name,
                value=None if config.is_sensitive else config.value,
                read_only=config.read_only,
                config_source=config.source,
                is_sensitive=config.is_sensitive,
            )
            for config in effective_topic_configs(broker.config, new.configs)
        ]
    return answer
