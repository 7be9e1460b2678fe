"""CreateTopics (key 19, versions 2 to 7).

- With ``validate_only`` nothing is created. -1 for partitions and replication factor means the broker's default (KIP-464).
- v5: the answer describes the new topic: partitions, replication factor, effective settings (KIP-525). v7: its id.

A topic's partitions can be used when the answer leaves, which waits for the metadata log alone, so ``timeout_ms`` is ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.config.topic_configs import effective_topic_configs
from pykbroker.controller.topics import NewTopic, TopicResult
from pykbroker.handlers.charging import charged_client
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: CreateTopicsRequest) -> Deferred[CreateTopicsResponse]:
    once: dict[str, CreatableTopic] = {}
    refused: dict[str, CreatableTopicResult] = {}
    for topic in request.topics:
        if topic.name in once:
            refused[topic.name] = _refusal(topic.name, "Duplicate topic name.")
        once[topic.name] = topic
    wanted = [_new_topic(topic) for name, topic in once.items() if name not in refused]
    describe = ctx.api_version >= 5

    def answer(created: Charged[list[TopicResult]]) -> CreateTopicsResponse:
        answers = [_answer(broker, new, result, describe) for new, result in zip(wanted, created.result, strict=True)]
        return CreateTopicsResponse(created.throttle_time_ms, topics=[*answers, *refused.values()])

    asked = broker.cluster.controller.create_topics(
        wanted, validate_only=request.validate_only, client=charged_client(ctx, strict_since=6)
    )
    return asked.map(answer)


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
            for config in effective_topic_configs(broker.cluster.config, new.configs)
        ]
    return answer
