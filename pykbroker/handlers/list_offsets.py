"""ListOffsets (key 2), versions 1 to 11.

By timestamp (the first record at or after it), and the special ones: -1 latest, -2 earliest, -3 largest timestamp
(KIP-734, version 7), -4 earliest local (KIP-405, version 8), -5 latest tiered (KIP-1005, version 9), -6 earliest
pending upload (KIP-1023, version 11). Read committed stops at the last stable offset. Without tiered storage -4 is the
log start and -5 and -6 find nothing, as Apache Kafka answers with tiering off.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wire.errors import ErrorCode, KafkaError
from wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from pykbroker.partition import Partition
    from wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

_READ_COMMITTED = 1
#: The version each special timestamp came with; older ones are refused.
_SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


def handle(broker: Broker, ctx: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    named = Counter((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)
    response = ListOffsetsResponse()
    for topic in request.topics:
        answers = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answers)
        for asked in topic.partitions:
            times = named.pop((topic.name, asked.partition_index), 0)
            if times == 1:
                answers.partitions.append(_answer(broker, ctx.api_version, request, topic.name, asked))
            elif times:  # named more than once: refused once
                answers.partitions.append(_error(asked.partition_index, ErrorCode.INVALID_REQUEST))
    return response


def _answer(
    broker: Broker, version: int, request: ListOffsetsRequest, topic: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    try:
        return _offset(broker, version, request, broker.cluster.partition(topic, asked.partition_index), asked)
    except KafkaError as error:
        return _error(asked.partition_index, error.code)


def _offset(
    broker: Broker,
    version: int,
    request: ListOffsetsRequest,
    partition: Partition | None,
    asked: ListOffsetsPartition,
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0 and version < _SINCE.get(asked.timestamp, 1):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if asked.timestamp < EARLIEST_PENDING_UPLOAD:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if partition.leader != broker.node_id:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition.check_leader_epoch(asked.current_leader_epoch)
    committed = request.isolation_level == _READ_COMMITTED
    upper = partition.last_stable_offset if committed else partition.high_watermark
    timestamp, offset, epoch = _find(partition, asked.timestamp, upper)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch if version >= 4 else -1,
    )


def _find(partition: Partition, wanted: int, upper: int) -> tuple[int, int, int]:
    """(timestamp, offset, leader epoch), each -1 where nothing is found."""
    log = partition.log
    if wanted == LATEST:
        return -1, upper, partition.leader_epoch
    if wanted in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        # A leader's epoch begins where its log ended, even while nothing is written in it.
        epoch = partition.leader_epoch if start == log.log_end_offset else log.epochs.epoch_at(start)
        return -1, start, epoch
    if wanted in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return -1, -1, -1
    found = log.offset_of_max_timestamp() if wanted == MAX_TIMESTAMP else log.offset_for_timestamp(wanted, upper)
    if found is None or found.offset >= upper:
        return -1, -1, -1
    return found.timestamp, found.offset, found.leader_epoch


def _error(index: int, code: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=index, error_code=code, timestamp=-1, offset=-1, leader_epoch=-1
    )
