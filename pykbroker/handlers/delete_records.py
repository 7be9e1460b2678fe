"""DeleteRecords (key 21), versions 0 to 2 (KIP-107): raise a partition's log start offset; -1 means the high watermark.

A topic whose cleanup.policy lacks ``delete`` is refused with POLICY_VIOLATION, as in Apache Kafka, internal topics too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest

_TO_HIGH_WATERMARK = -1
#: The weight of raising a log's start, which may drop segments.
_WEIGHT = 5


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Deferred[DeleteRecordsResponse]:
    def work() -> Work[DeleteRecordsResponse]:
        response = DeleteRecordsResponse()
        for topic in request.topics:
            result = DeleteRecordsTopicResult(name=topic.name)
            response.topics.append(result)
            for requested in topic.partitions:
                result.partitions.append(_delete(broker, topic.name, requested))
                yield _WEIGHT
            yield 1
        return response

    return in_slices(broker, ctx, work())


def logs_of(broker: Broker, version: int, request: DeleteRecordsRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called."""
    for topic in request.topics:
        for requested in topic.partitions:
            yield broker.partition(topic.name, requested.partition_index)


def _delete(broker: Broker, topic: str, requested: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=requested.partition_index, low_watermark=-1)
    partition = broker.partition(topic, requested.partition_index)
    try:
        if partition is None:
            raise KafkaError(broker.absent(topic, requested.partition_index))
        if partition.leader != broker.node_id:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = partition.log
        if not log.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        upto = partition.high_watermark if requested.offset == _TO_HIGH_WATERMARK else requested.offset
        if not 0 <= upto <= partition.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        log.delete_records_before(upto)
        partition.tell_changed()
        result.low_watermark = log.log_start_offset
    except KafkaError as error:
        result.error_code = error.code
    return result
