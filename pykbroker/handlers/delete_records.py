"""DeleteRecords (key 21), versions 0 to 2 (KIP-107): raise a partition's log start offset; -1 means the high watermark.

A topic whose cleanup.policy lacks ``delete`` is refused with POLICY_VIOLATION, as in Apache Kafka, internal topics too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import Deferred, gather
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
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest

#: A wait for the low watermark, and the result that it completes.
_Waiting = tuple[Deferred[int], DeleteRecordsPartitionResult]

_TO_HIGH_WATERMARK = -1
#: The weight of raising a log's start, which may drop segments.
_WEIGHT = 5


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Deferred[DeleteRecordsResponse]:
    def work() -> Work[DeleteRecordsResponse]:
        response = DeleteRecordsResponse()
        waiting: list[_Waiting] = []
        for topic in request.topics:
            result = DeleteRecordsTopicResult(name=topic.name)
            response.topics.append(result)
            for requested in topic.partitions:
                result.partitions.append(_delete(broker, topic.name, requested, waiting))
                yield _WEIGHT
            yield 1
        return _when_deleted_everywhere(broker, request.timeout_ms, waiting, response) if waiting else response

    return in_slices(broker, ctx, work())


def logs_of(broker: Broker, version: int, request: DeleteRecordsRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called."""
    for topic in request.topics:
        for requested in topic.partitions:
            yield broker.partition(topic.name, requested.partition_index)


def _when_deleted_everywhere(
    broker: Broker, timeout_ms: int, waiting: list[_Waiting], response: DeleteRecordsResponse
) -> Deferred[DeleteRecordsResponse]:
    """The response once all living replicas have deleted the records, with REQUEST_TIMED_OUT for what takes longer."""

    def deleted(result: DeleteRecordsPartitionResult, low_watermark: int) -> None:
        result.low_watermark = low_watermark

    def refused(result: DeleteRecordsPartitionResult, error: KafkaError) -> None:
        result.error_code = error.code

    waits = [
        wait.map(partial(deleted, result)).recover(KafkaError, partial(refused, result)) for wait, result in waiting
    ]

    def expire() -> None:
        for wait, _ in waiting:
            wait.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT))

    timer = broker.runtime.client_timers.after(timeout_ms, expire)

    def finish(_: list[None]) -> DeleteRecordsResponse:
        timer.cancel()
        return response

    return gather(waits).map(finish)


def _delete(
    broker: Broker, topic: str, requested: DeleteRecordsPartition, waiting: list[_Waiting]
) -> DeleteRecordsPartitionResult:
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
        if partition.led is not None:
            wait = partition.led.deleted_before(upto)
            if wait.done:
                result.low_watermark = wait.value
            else:
                result.low_watermark = -1
                waiting.append((wait, result))
    except KafkaError as error:
        result.error_code = error.code
    return result
