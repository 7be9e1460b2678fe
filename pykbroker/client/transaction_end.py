"""Ends transactions of other producers: through their coordinator, or, if they hang, in the partition itself."""

from __future__ import annotations

from typing import Any

from pykbroker.client.client import TRANSACTION, Client
from pykbroker.client.errors import ClientError, raise_for
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.transaction_state import active_producers
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pykbroker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def fence(client: Client, transactional_id: str) -> dict[str, Any]:
    """Abort the open transaction and fence the producer by a new epoch. Raises the KafkaError of the response.

    By InitProducerId, as Java's Admin.fenceProducers.
    """

    def initialize() -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=int(client.timeout_s * 1000)
        )
        answer = client.coordinator(transactional_id, TRANSACTION).call(request, InitProducerIdResponse)
        raise_for(answer.error_code)
        return answer

    answer = client.retrying(initialize)
    return {"producer": answer.producer_id, "epoch": answer.producer_epoch}


def end_hanging(client: Client, partition: TopicPartition, start_offset: int) -> dict[str, Any]:
    """Write an abort marker for the transaction that began at ``start_offset``.

    Raises the KafkaError of the response, or ClientError.
    """
    found = [
        producer
        for producer in client.retrying(lambda: active_producers(client, partition))
        if producer.current_txn_start_offset == start_offset
    ]
    if not found:
        raise ClientError(
            f"No transaction that is open in {partition} began at offset {start_offset}; "
            f"`pykbroker transactions producers {partition.topic} --open` shows those that are."
        )
    (producer,) = found
    write_abort_marker(client, partition, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch)
    return {
        "topic": partition.topic,
        "partition": partition.number,
        "producer": producer.producer_id,
        "epoch": producer.producer_epoch,
    }


def write_abort_marker(
    client: Client, partition: TopicPartition, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> None:
    """Write an abort marker for a producer's transaction in one partition. Raises the KafkaError of the response."""
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.number])],
        coordinator_epoch=max(coordinator_epoch, 0),  # -1: no marker was written yet
    )

    def write() -> None:
        answer = client.leader(*partition).call(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
        for result in answer.markers:
            for topic in result.topics:
                for written in topic.partitions:
                    raise_for(written.error_code)

    client.retrying(write)
