"""DescribeProducers (key 61), version 0 (KIP-664): the producer states that a partition's replica keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.metadata.names import name_fault
from pykbroker.runtime.slices import FEW
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse | Deferred[DescribeProducersResponse]:
    def work() -> Work[DescribeProducersResponse]:
        response = DescribeProducersResponse()
        for topic in request.topics:
            result = TopicResponse(name=topic.name)
            response.topics.append(result)
            indexes = topic.partition_indexes
            for index in indexes if len(indexes) <= FEW else dict.fromkeys(indexes):
                answer = _answer(broker, topic.name, index)
                result.partitions.append(answer)
                yield 1 + _PRODUCER_WEIGHT * len(answer.active_producers)
            yield 1
        return response

    return in_slices(broker, ctx, work())


#: The weight of describing a producer.
_PRODUCER_WEIGHT = 0.2


def has_valid_name(topic: TopicRequest) -> bool:
    """Whether a topic can have this name."""
    return name_fault(topic.name) is None


def logs_of(broker: Broker, version: int, request: DescribeProducersRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called."""
    for topic in request.topics:
        for index in topic.partition_indexes:
            yield broker.partition(topic.name, index)


def _answer(broker: Broker, topic: str, index: int) -> PartitionResponse:
    fault = name_fault(topic)
    if fault is not None:
        return PartitionResponse(
            partition_index=index,
            error_code=ErrorCode.INVALID_TOPIC_EXCEPTION,
            error_message=f"Topic name is invalid: {fault}",
        )
    partition = broker.partition(topic, index)
    try:
        if partition is None:
            raise KafkaError(broker.absent(topic, index))
        partition.check_served_by(broker.node_id, -1, leader_only=False)
        producers = partition.log.active_producers()
    except KafkaError as error:
        known = topic in broker.metadata.image.topics
        return PartitionResponse(
            partition_index=index, error_code=error.code, error_message=None if known else error.message
        )
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.txn_first_offset,
            )
            for producer in producers
        ],
    )
