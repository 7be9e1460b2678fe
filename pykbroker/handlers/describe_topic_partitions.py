"""DescribeTopicPartitions (key 75, version 0): topics and their partitions in pages (KIP-966).

Topics come in alphabetical order. ``cursor`` is where a page begins; when the page is full, ``next_cursor`` is where the
next one does. An empty topic list means all topics. A page holds at most ``response_partition_limit`` partitions, and
never more than max.request.partition.size.limit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import WEIGHT_OF_A_QUESTION, WEIGHT_OF_OPERATIONS, in_slices
from pykbroker.metadata.names import is_internal, is_valid_topic_name
from pykbroker.security.authorized import authorized_operations
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import MetadataImage, PartitionImage
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: The weight of a partition, and of a topic.
_WEIGHT = 0.3
#: The weight of a name that is sorted.
_SORTING = 0.02
_TOPIC_WEIGHT = 1


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse | Deferred[DescribeTopicPartitionsResponse]:
    return in_slices(broker, ctx, _described(broker, ctx, request))


def _described(
    broker: Broker, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> Work[DescribeTopicPartitionsResponse]:
    image = broker.metadata.image
    names = _names(image, request)
    yield _SORTING * len(request.topics or image.topics)
    limit = min(broker.config["max.request.partition.size.limit"], request.response_partition_limit)
    authorizer = broker.authorizer
    hidden: set[str] = set()
    if authorizer is not None:
        for name in names:
            if not authorizer.may(ctx, DESCRIBE, TOPIC, name):
                hidden.add(name)
            yield WEIGHT_OF_A_QUESTION
    shown = [name for name in names if name not in hidden] if hidden else names
    response = yield from _page(image, ctx.listener, shown, request, max(limit, 1))
    for topic in response.topics:
        assert topic.name is not None
        topic.topic_authorized_operations = authorized_operations(authorizer, ctx, TOPIC, topic.name)
        yield WEIGHT_OF_OPERATIONS
    if request.topics:
        response.topics += [_refusal(name) for name in names if name in hidden]
    return response


def failed(request: DescribeTopicPartitionsRequest, version: int, error: KafkaError) -> DescribeTopicPartitionsResponse:
    """The request as a whole is refused: every topic carries the error."""
    del version
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name) for topic in request.topics
        ]
    )


def _names(image: MetadataImage, request: DescribeTopicPartitionsRequest) -> list[str]:
    """The requested topics from the cursor on, in order. Raises KafkaError INVALID_REQUEST if the cursor's topic is not
    among them.
    """
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    requested: Iterable[str] = (topic.name for topic in request.topics) if request.topics else image.topics
    names = sorted({name for name in requested if name >= first})
    if cursor is not None:
        if request.topics and cursor.topic_name not in names:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {cursor.topic_name}",
            )
        if cursor.partition_index < 0:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "DescribeTopicPartitionsRequest cursor partition must be valid: "
                f"Cursor(topicName='{cursor.topic_name}', partitionIndex={cursor.partition_index})",
            )
    return names


def _page(
    image: MetadataImage, listener: str, names: list[str], request: DescribeTopicPartitionsRequest, limit: int
) -> Generator[float, None, DescribeTopicPartitionsResponse]:
    response = DescribeTopicPartitionsResponse()
    cursor = request.cursor
    for name in names:
        yield _TOPIC_WEIGHT
        if limit == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        topic = image.topic(name)
        if topic is None:
            if request.topics:
                response.topics.append(_unknown(name))
            continue
        end = min(len(topic.partitions), first + limit)
        answer = DescribeTopicPartitionsResponseTopic(
            error_code=ErrorCode.NONE, name=name, topic_id=topic.id, is_internal=topic.internal
        )
        for index in range(first, end):
            state = topic.partitions.get(index)
            if state is not None:
                answer.partitions.append(_partition(image, state, listener))
            yield _WEIGHT
        response.topics.append(answer)
        if end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
        limit -= max(end - first, 0)
    return response


def _refusal(name: str) -> DescribeTopicPartitionsResponseTopic:
    """The answer for a topic that the client may not describe; it does not reveal whether the topic exists."""
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name, is_internal=is_internal(name))


def _partition(
    image: MetadataImage, partition: PartitionImage, listener: str
) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=partition.leader if image.endpoint(partition.leader, listener) is not None else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.eligible_leader_replicas,
        last_known_elr=partition.last_known_elr,
        offline_replicas=image.offline_replicas(partition, listener),
    )
