"""Sends batches of records exactly once, also when a response is lost (idempotent producer, KIP-98)."""

from __future__ import annotations

from collections import defaultdict

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    Compression,
    Record,
    encode_batch,
)

ALL = -1
_HIGHEST_WITH_TOPIC_NAMES = 12  # the last version with topic names; later ones have topic ids


class Producer:
    """Produces through ``client``. ``acks`` is 0, 1 or ALL; it is idempotent with ALL only."""

    def __init__(self, client: Client, *, acks: int = ALL, compression: Compression = Compression.NONE) -> None:
        self._client = client
        self._acks = acks
        self._compression = compression
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        self._sequences: dict[TopicPartition, int] = defaultdict(int)
        if acks == ALL and client.any().supports(ApiKey.INIT_PRODUCER_ID):
            client.retrying(self._init_producer_id)

    def send(self, partition: TopicPartition, records: list[Record]) -> int:
        """Write one batch and return its base offset, -1 with acks=0.

        Raises the KafkaError with which the broker refuses it.
        """
        idempotent = self._producer_id != NO_PRODUCER_ID
        batch = encode_batch(
            records,
            compression=self._compression,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._sequences[partition] if idempotent else NO_SEQUENCE,
        )
        offset = self._client.retrying(lambda: self._send(partition, batch), final=(ErrorCode.CORRUPT_MESSAGE,))
        self._sequences[partition] = (self._sequences[partition] + len(records)) & 0x7FFFFFFF
        return offset

    def _send(self, partition: TopicPartition, batch: bytes) -> int:
        request = ProduceRequest(
            acks=self._acks,
            timeout_ms=int(self._client.timeout_s * 1000),
            topic_data=[
                TopicProduceData(partition.topic, partition_data=[PartitionProduceData(partition.number, batch)])
            ],
        )
        connection = self._client.leader(*partition)
        if self._acks == 0:
            connection.send(request, _HIGHEST_WITH_TOPIC_NAMES, answered=False)
            return -1
        answer = connection.call(request, ProduceResponse, _HIGHEST_WITH_TOPIC_NAMES)
        ((result,),) = (topic.partition_responses for topic in answer.responses)
        if result.error_code:
            reasons = [error.batch_index_error_message for error in result.record_errors]
            reason = next(filter(None, reasons), None) or result.error_message
            raise KafkaError(error_code(result.error_code), reason)
        return result.base_offset

    def _init_producer_id(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
        answer = self._client.any().call(request, InitProducerIdResponse)
        raise_for(answer.error_code)
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
