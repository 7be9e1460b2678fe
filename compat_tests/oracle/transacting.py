"""A transactional producer made of raw requests, for cases. Every step waits until the broker is ready for it: Apache
Kafka answers an end before its markers are written, and a coordinator's address before the coordinator is loaded."""

from __future__ import annotations

from typing import Any

from compat_tests.oracle.requests import Ask, records
from pykbroker.wire.message import Message
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pykbroker.wire.records import encode_batch

TRANSACTION, GROUP = 1, 0
#: Errors that say "not yet": NOT_LEADER, COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS.
NOT_YET = (3, 6, 14, 15, 16, 51)


def coordinator_ready(ask: Ask, key: str, kind: int = TRANSACTION) -> None:
    """Waits until somebody coordinates the transactional id or the group, and has loaded it."""
    quiet_until(ask, lambda found: found.error_code == 0, FindCoordinatorRequest(key=key, key_type=kind), 3)
    if kind == GROUP:
        quiet_until(ask, lambda found: found.error_code == 0, OffsetFetchRequest(key, None), 5)
    else:
        request = DescribeTransactionsRequest([key])
        quiet_until(ask, lambda found: found.transaction_states[0].error_code not in NOT_YET, request, 0)


def quiet_until(ask: Ask, done: Any, request: Message, version: int) -> Any:
    """Asks until the answer is as wanted, and keeps nothing."""
    kept = len(ask.answers)
    response = ask.until(done, request, version)
    del ask.answers[kept:]
    assert done(response), response
    return response


class Transacting:
    """One transactional id. ``epoch`` and ``producer_id`` are what the last answer said."""

    def __init__(self, ask: Ask, what: str = "id", timeout_ms: int = 60_000) -> None:
        self.ask = ask
        self.id = ask.name(what)
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        coordinator_ready(ask, self.id)
        self.init()

    def init(self) -> None:
        """Begins a new incarnation."""
        answer = self.quietly(InitProducerIdRequest(self.id, self.timeout_ms), 4)
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def quietly(self, request: Message, version: int) -> Any:
        """Asks until the answer is no "not yet", which must then be no error."""
        answer = quiet_until(self.ask, lambda found: found.error_code not in NOT_YET, request, version)
        assert answer.error_code == 0, answer
        return answer

    def adding(self, *partitions: tuple[str, int], version: int = 3, **changes: Any) -> AddPartitionsToTxnRequest:
        """A request in the form of ``version``; ``changes`` replace the id, producer id or epoch."""
        topics = [AddPartitionsToTxnTopic(topic, [index]) for topic, index in partitions]
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, **changes}
        if version >= 4:
            return AddPartitionsToTxnRequest([AddPartitionsToTxnTransaction(topics=topics, **who)])
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=who["transactional_id"],
            v3_and_below_producer_id=who["producer_id"],
            v3_and_below_producer_epoch=who["producer_epoch"],
            v3_and_below_topics=topics,
        )

    def add(self, *partitions: tuple[str, int], version: int = 3) -> None:
        def codes(found: Any) -> list[int]:
            topics = found.results_by_topic_v3_and_below
            return [each.partition_error_code for topic in topics for each in topic.results_by_partition]

        request = self.adding(*partitions)
        answer = quiet_until(self.ask, lambda found: not any(code in NOT_YET for code in codes(found)), request, 3)
        assert not any(codes(answer)), answer

    def batch(self, count: int = 3, sequence: int = 0, **changes: Any) -> bytes:
        who = {"producer_id": self.producer_id, "producer_epoch": self.epoch, **changes}
        return encode_batch(records(0, count), base_sequence=sequence, transactional=True, **who)

    def producing(
        self, topic: str, batch: bytes, partition: int = 0, *, version: int = 9, **changes: Any
    ) -> ProduceRequest:
        data = [PartitionProduceData(partition, batch)]
        reference = {"topic_id": self.ask.topic_ids[topic]} if version >= 13 else {"name": topic}
        return ProduceRequest(
            changes.get("transactional_id", self.id), -1, 10_000, [TopicProduceData(partition_data=data, **reference)]
        )

    def produce(self, topic: str, partition: int = 0, *, sequence: int = 0, version: int = 9) -> None:
        """Adds the partition, where the version does not do so itself, and appends a batch."""
        if version < 12:
            self.add((topic, partition))
        request = self.producing(topic, self.batch(sequence=sequence), partition, version=version)

        def code(found: Any) -> int:
            return found.responses[0].partition_responses[0].error_code

        answer = quiet_until(self.ask, lambda found: code(found) not in (*NOT_YET, 19), request, version)
        assert code(answer) == 0, answer

    def ending(self, *, commit: bool, **changes: Any) -> EndTxnRequest:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, **changes}
        return EndTxnRequest(committed=commit, **who)

    def end(self, *, commit: bool, version: int = 3) -> None:
        """Ends the transaction and waits for its markers."""
        answer = self.quietly(self.ending(commit=commit), version)
        if version >= 5:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.wait_for("CompleteCommit" if commit else "CompleteAbort")

    def wait_for(self, state: str) -> None:
        def reached(found: Any) -> bool:
            return bool(found.transaction_states[0].transaction_state == state)

        quiet_until(self.ask, reached, DescribeTransactionsRequest([self.id]), 0)

    def adding_offsets(self, group: str, **changes: Any) -> AddOffsetsToTxnRequest:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, **changes}
        return AddOffsetsToTxnRequest(group_id=group, **who)

    def committing_offsets(
        self, group: str, *offsets: tuple[str, int, int], metadata: str | None = "note", **changes: Any
    ) -> TxnOffsetCommitRequest:
        who = {"transactional_id": self.id, "producer_id": self.producer_id, "producer_epoch": self.epoch, **changes}
        topics = [
            TxnOffsetCommitRequestTopic(
                **self.ask.reference(topic, 6, "name"),
                partitions=[TxnOffsetCommitRequestPartition(index, offset, committed_metadata=metadata)],
            )
            for topic, index, offset in offsets
        ]
        return TxnOffsetCommitRequest(group_id=group, topics=topics, **who)
