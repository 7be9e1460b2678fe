"""Batches that are in no transaction their coordinator knows: how they are refused, and, where they were let in, how an
administrator ends them (KIP-890, KIP-664).
"""

from __future__ import annotations

import pytest

from pykbroker.coordination.transactions.admitting import Dialect, admit
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import GROUP, MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pykbroker.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from pykbroker.wire.records import Record, encode_batch

NONE, INVALID, ABORTABLE = ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE


def produced(world: MemoryCluster, producer: Producer, version: int) -> ErrorCode:
    """A batch in a partition that was not added to the transaction."""
    batch = encode_batch(
        [Record(timestamp=world.clock.now_ms(), value=b"x")],
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        transactional=True,
    )
    topic = world.cluster.metadata.image.topics["t"].id
    data = TopicProduceData(
        name="t" if version < 13 else "",
        topic_id=topic if version >= 13 else bytes(16),
        partition_data=[PartitionProduceData(0, batch)],
    )
    answer = world.ask(ProduceRequest(producer.id, -1, 1000, [data]), version)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize(
    ("version", "code"), [*((version, INVALID) for version in range(3, 11)), (11, ABORTABLE), (12, NONE), (13, NONE)]
)
def test_a_batch_nobody_announced(version, code):
    world = MemoryCluster()
    world.topic()
    assert produced(world, Producer(world, "tx", protocol=1).started(), version) is code
    found = world.fetch("t", 0, 0)
    assert (found.high_watermark, found.last_stable_offset) == (int(code is NONE), 0)


@pytest.mark.parametrize(
    ("version", "code"), [*((version, INVALID) for version in range(4)), (4, ABORTABLE), (5, NONE)]
)
def test_offsets_nobody_announced(version, code):
    world = MemoryCluster()
    world.topic()
    producer = Producer(world, "tx", protocol=1).started()
    broker = world.coordinator(GROUP)
    topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 5)])]
    request = TxnOffsetCommitRequest("tx", GROUP, producer.producer_id, producer.epoch, topics=topics)
    answer = world.ask(request, version, broker=broker)
    assert answer.topics[0].partitions[0].error_code == code


@pytest.mark.parametrize("version", [1, 2])
def test_an_administrator_ends_a_transaction_that_hangs(version):
    """Let in without being verified, it belongs to no transaction: no commit ends it, nor does the time limit."""
    world = MemoryCluster(transaction_partition_verification_enable="false")
    world.topic()
    producer = Producer(world, "tx", protocol=1).started()
    assert producer.send(b"kept", index=1) is NONE
    assert producer.write(b"hangs") is NONE
    assert producer.commit() is NONE
    world.advance(producer.timeout_ms * 2)
    world.restart(kill=True)
    assert world.read(index=1) == [b"kept"]
    found = world.fetch("t", 0, 0)
    assert (found.last_stable_offset, found.high_watermark) == (0, 1)

    described = world.ask(DescribeProducersRequest([TopicRequest("t", [0])]), 0).topics[0].partitions[0]
    hanging = described.active_producers[0]
    assert (hanging.producer_id, hanging.current_txn_start_offset) == (producer.producer_id, 0)
    marker = WritableTxnMarker(
        producer_id=hanging.producer_id,
        producer_epoch=hanging.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic("t", [0])],
        coordinator_epoch=max(hanging.coordinator_epoch, 0),
    )
    answer = world.ask(WriteTxnMarkersRequest([marker]), version).markers[0].topics[0].partitions[0]
    assert answer.error_code == NONE
    found = world.fetch("t", 0, 0)
    assert (found.last_stable_offset, found.high_watermark) == (2, 2)
    assert world.read() == []
    assert world.fetch("t", 0, 0, isolation=0).records != b""


class LateAnswers:
    """The port to a coordinator in another process, which verifies everything, and says so when the test wants."""

    def __init__(self) -> None:
        self.answer: Deferred[dict[tuple[str, int], ErrorCode]] = Deferred()

    def verify(self, *_: object) -> Deferred[dict[tuple[str, int], ErrorCode]]:
        return self.answer


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_marker_between_the_verification_and_the_batch(meanwhile, monkeypatch):
    """What the coordinator said is about a transaction that the marker has ended: the batch would hang for ever. Of two questions at once each
    has its answer, whatever becomes of the batch of the first one.
    """
    world = MemoryCluster()
    world.topic()
    port = LateAnswers()
    monkeypatch.setitem(world.broker.__dict__, "transaction_port", port)
    log = world.broker.partition("t", 0).log
    producer = Producer(world, "tx", protocol=1).started()
    dialect = Dialect(adds=False, knows_abortable=False)
    who, partition = (producer.producer_id, producer.epoch), world.broker.partition("t", 0)
    admitted = [admit(world.broker, "tx", who, [partition], dialect) for _ in range(2)]
    if meanwhile:
        marker = WritableTxnMarker(
            producer.producer_id, producer.epoch, False, [WritableTxnMarkerTopic("t", [0])], coordinator_epoch=0
        )
        world.ask(WriteTxnMarkersRequest([marker]), 1)
    port.answer.complete({})
    for each in admitted:
        assert [refusal.code for refusal in each.value.values()] == ([INVALID] if meanwhile else [])
    assert not log.producers.guards
