"""OffsetForLeaderEpoch (key 23), versions 2 to 4 (KIP-101, KIP-279, KIP-320).

Answers the largest leader epoch not above the requested one and its end offset, or -1 for both if the log has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition


def handle(
    broker: Broker, ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse | Deferred[OffsetForLeaderEpochResponse]:
    def work() -> Work[OffsetForLeaderEpochResponse]:
        response = OffsetForLeaderEpochResponse()
        for topic in request.topics:
            result = OffsetForLeaderTopicResult(topic=topic.topic)
            response.topics.append(result)
            for requested in topic.partitions:
                result.partitions.append(_answer(broker, topic.topic, requested))
                yield 1
            yield 1
        return response

    return in_slices(broker, ctx, work())


def logs_of(broker: Broker, version: int, request: OffsetForLeaderEpochRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called."""
    for topic in request.topics:
        for requested in topic.partitions:
            yield broker.partition(topic.topic, requested.partition)


def _answer(broker: Broker, topic: str, requested: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=requested.partition, leader_epoch=-1, end_offset=-1)
    partition = broker.partition(topic, requested.partition)
    try:
        if partition is None:
            raise KafkaError(broker.absent(topic, requested.partition))
        partition.check_served_by(broker.node_id, requested.current_leader_epoch)
        answer.leader_epoch, answer.end_offset = partition.log.end_offset_for_epoch(requested.leader_epoch)
    except KafkaError as error:
        answer.error_code = error.code
    return answer
