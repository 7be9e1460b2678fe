"""WriteTxnMarkers (key 27), versions 1 to 2: end transactions in partitions that this broker leads.

Coordinators send it to leaders, and administrators send it to abort a hanging transaction (KIP-664). Between brokers of one
process no request is sent (``coordination/markers.py``). Version 2 adds the transaction version, which decides how the
producer epoch is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.markers import write_marker
from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import gather
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest

#: The weight of a marker, which is appended by itself.
_WEIGHT = 5


def handle(
    broker: Broker, ctx: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Deferred[WriteTxnMarkersResponse]:
    def work() -> Work[WriteTxnMarkersResponse]:
        uncommitted: list[Deferred[None]] = []
        response = WriteTxnMarkersResponse()
        for marker in request.markers:
            result = WritableTxnMarkerResult(producer_id=marker.producer_id)
            response.markers.append(result)
            for topic in marker.topics:
                answers = WritableTxnMarkerTopicResult(name=topic.name)
                result.topics.append(answers)
                for index in topic.partition_indexes:
                    answers.partitions.append(_write(broker, marker, topic.name, index, uncommitted))
                    yield _WEIGHT
                yield 1
            yield 1
        return gather(uncommitted).map(lambda _: response) if uncommitted else response

    return in_slices(broker, ctx, work())


def _write(
    broker: Broker,
    marker: WritableTxnMarker,
    topic: str,
    index: int,
    uncommitted: list[Deferred[None]],
) -> WritableTxnMarkerPartitionResult:
    answer = WritableTxnMarkerPartitionResult(partition_index=index)

    def refused(error: KafkaError) -> None:
        answer.error_code = error.code

    try:
        partition = broker.partition(topic, index)
        if partition is None:
            raise KafkaError(broker.absent(topic, index))
        if partition.leader != broker.node_id:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        committed = write_marker(
            broker,
            partition,
            EndTxnMarker(marker.transaction_result, marker.coordinator_epoch),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            transaction_version=marker.transaction_version,
        )
    except KafkaError as error:
        refused(error)
        return answer
    if committed is not None:
        uncommitted.append(committed.recover(KafkaError, refused))
    return answer
