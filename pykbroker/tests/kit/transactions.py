"""A transactional producer of a cluster in memory."""

from __future__ import annotations

from typing import Any

from pykbroker.tests.kit.cluster import GROUP, TRANSACTION_KEY, MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pykbroker.wire.records import Record, encode_batch


class Producer:
    """A producer of transaction protocol 1 or 2. Methods return error codes."""

    def __init__(
        self, world: MemoryCluster, transactional_id: str, protocol: int = 2, timeout_ms: int = 60_000
    ) -> None:
        self.world = world
        self.id = transactional_id
        self.protocol = protocol
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    @property
    def coordinator(self) -> int:
        return self.world.coordinator(self.id, TRANSACTION_KEY)

    def init(self, *, recover: bool = False) -> ErrorCode:
        """Begin a new incarnation, or go on after an error."""
        expected = (self.producer_id, self.epoch) if recover else (-1, -1)
        request = InitProducerIdRequest(self.id, self.timeout_ms, *expected)
        answer = self._ask(request, 4, broker=self.coordinator)
        if not answer.error_code:
            self._follow(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def started(self) -> Producer:
        """Initialised, however often that must be tried."""
        for _ in range(5):
            code = self.init()
            if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            self.world.advance(1000)
        assert code is ErrorCode.NONE, code
        return self

    def _ask(self, request: Message, version: int, *, broker: int) -> Any:
        """The answer; what it leaves to be done is done before the next request arrives."""
        answer = self.world.ask(request, version, broker=broker)
        self.world.settle()
        return answer

    def _follow(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def add(self, topic: str = "t", *indexes: int) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, list(indexes))],
        )
        answer = self._ask(request, 3, broker=self.coordinator)
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def send(self, value: bytes, topic: str = "t", index: int = 0) -> ErrorCode:
        """Write one record in the transaction."""
        if self.protocol < 2 and (code := self.add(topic, index)):
            return code
        return self.write(value, topic, index)

    def write(self, value: bytes, topic: str = "t", index: int = 0) -> ErrorCode:
        """Write one record, whatever the coordinator knows of it."""
        sequence = self._sequences.get((topic, index), 0)
        batch = encode_batch(
            [Record(timestamp=self.world.clock.now_ms(), value=value)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index, batch)])]
        leader = self.world.partition(topic, index).leader
        request = ProduceRequest(self.id, -1, 1000, data)
        answer = self._ask(request, 12 if self.protocol == 2 else 9, broker=leader)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if code is ErrorCode.NONE:
            self._sequences[topic, index] = sequence + 1
        return code

    def commit_offset(self, offset: int, topic: str = "t", index: int = 0) -> ErrorCode:
        """Commit an offset of the group in the transaction."""
        who = (self.producer_id, self.epoch)
        if self.protocol < 2:
            answer = self._ask(AddOffsetsToTxnRequest(self.id, *who, GROUP), 3, broker=self.coordinator)
            if answer.error_code:
                return ErrorCode(answer.error_code)
        topics = [TxnOffsetCommitRequestTopic(topic, partitions=[TxnOffsetCommitRequestPartition(index, offset)])]
        request = TxnOffsetCommitRequest(self.id, GROUP, *who, topics=topics)
        broker = self.world.coordinator(GROUP)
        answer = self._ask(request, 5 if self.protocol == 2 else 3, broker=broker)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool) -> ErrorCode:
        request = EndTxnRequest(self.id, self.producer_id, self.epoch, commit)
        answer = self._ask(request, 5 if self.protocol == 2 else 3, broker=self.coordinator)
        if self.protocol == 2 and not answer.error_code:
            self._follow(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def commit(self) -> ErrorCode:
        return self.end(commit=True)

    def abort(self) -> ErrorCode:
        return self.end(commit=False)
