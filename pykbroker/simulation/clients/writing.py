"""Idempotent writing: batches with sequence numbers, repeated until there is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import RETRY_MS, RequestRefused, SimulatedClient, TopicPartition
from pykbroker.simulation.network import Disconnected
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from pykbroker.wire.messages.produce import PartitionProduceResponse

PLAIN_PRODUCE = 9
#: From this version on partitions join a transaction as they are written to (KIP-890).
ADDING_PRODUCE = 12

_ALL = -1
#: The same batch may be sent again, perhaps to another leader.
_RETRIED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Writer:
    """The batches of one producer id and epoch, in order for each partition."""

    def __init__(
        self, client: SimulatedClient, producer_id: int, epoch: int, transactional_id: str | None = None
    ) -> None:
        self.client = client
        self.producer_id = producer_id
        self.epoch = epoch
        self.transactional_id = transactional_id
        self._sequences: dict[TopicPartition, int] = {}

    def write(self, where: TopicPartition, values: list[bytes], version: int = PLAIN_PRODUCE) -> Steps[int]:
        """Append ``values`` as one batch; the offset of the first. Raises RequestRefused; it tries on for as long as it may."""
        sequence = self._sequences.get(where, 0)
        self._sequences[where] = sequence + len(values)
        batch = encode_batch(
            [Record(timestamp=self.client.world.clock.now_ms(), value=value) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=self.transactional_id is not None,
        )
        data = TopicProduceData(name=where[0], partition_data=[PartitionProduceData(where[1], batch)])
        request = ProduceRequest(self.transactional_id, _ALL, 30_000, [data])
        while True:
            try:
                response = yield from self.client.ask_leader(where, request, version)
            except Disconnected:
                yield from self.client.pause(RETRY_MS)
                continue
            answer: PartitionProduceResponse = response.responses[0].partition_responses[0]
            if answer.error_code == ErrorCode.NONE:
                return answer.base_offset
            if answer.error_code not in _RETRIED:
                raise RequestRefused(f"produce to {where}", answer.error_code)
            self.client.forget_leader(where)
            yield from self.client.pause(RETRY_MS)
