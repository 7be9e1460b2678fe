from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pykbroker.brokers.remote_transactions import RemoteMarkers, RemoteTransactions
from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.runtime.waits import Deferred, WakeQueue
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages import add_partitions_to_txn as adding
from pykbroker.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

HERE, THERE = 7, 1
LOST = KafkaError(ErrorCode.NETWORK_EXCEPTION)


class Beside:
    """Broker 1 of a cluster, as broker 7 asks it: ``asked`` has the requests and the waits for their answers."""

    def __init__(self) -> None:
        self.world = MemoryCluster()
        self.world.topic("t", partitions=2)
        self.asked: list[tuple[Any, Deferred[Any]]] = []
        self.queue = WakeQueue()
        self.due: list[Any] = []
        self.queue.run_by(self.due.append)
        metadata = self.world.cluster.metadata
        self.markers = RemoteMarkers(self, metadata, HERE, self, self.queue)
        self.transactions = RemoteTransactions(self, metadata, HERE, self, BrokerConfig())  # type: ignore[arg-type]

    def ask(self, node_id: int, request: Any, version: int) -> Deferred[Any]:
        assert node_id == THERE
        answer: Deferred[Any] = Deferred()
        self.asked.append((request, answer))
        return answer

    def turn(self) -> None:
        due = self.due.copy()
        self.due.clear()
        for run in due:
            run()

    def write(self, *wheres: tuple[str, int], producer_id: int = 5) -> list[Deferred[None] | None]:
        return [
            self.markers.write(
                each,
                EndTxnMarker(commit=True, coordinator_epoch=3),
                producer_id=producer_id,
                producer_epoch=1,
                transaction_version=2,
            )
            for each in wheres
        ]


def answered(request: WriteTxnMarkersRequest, codes: Iterable[int] = ()) -> WriteTxnMarkersResponse:
    """An answer with these codes in turn, then none."""
    left = [*codes]
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            WritableTxnMarkerPartitionResult(index, left.pop(0) if left else 0)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def test_markers_of_one_turn_go_in_one_request() -> None:
    beside = Beside()
    waits = beside.write(("t", 0), ("t", 1)) + beside.write(("t", 0), producer_id=6)
    assert not beside.asked
    beside.turn()
    ((request, answer),) = beside.asked
    assert [
        (each.producer_id, [(topic.name, topic.partition_indexes) for topic in each.topics]) for each in request.markers
    ] == [
        (5, [("t", [0, 1])]),
        (6, [("t", [0])]),
    ]
    assert {
        (each.coordinator_epoch, each.transaction_result, each.transaction_version) for each in request.markers
    } == {(3, True, 2)}
    answer.complete(answered(request, [0, ErrorCode.NOT_LEADER_OR_FOLLOWER]))
    first, second, third = waits
    assert first is not None
    assert first.done
    assert first.error is None
    assert second is not None
    assert isinstance(second.error, KafkaError)
    assert second.error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert third is not None
    assert third.done
    assert third.error is None


def test_one_request_at_a_time() -> None:
    beside = Beside()
    (first,) = beside.write(("t", 0))
    beside.turn()
    (second,) = beside.write(("t", 1))
    beside.turn()
    assert len(beside.asked) == 1
    beside.asked[0][1].fail(LOST)
    assert first is not None
    assert first.error is LOST
    assert second is not None
    assert not second.done
    beside.turn()
    request, answer = beside.asked[1]
    answer.complete(answered(request))
    assert second.done
    assert second.error is None


def test_an_answer_that_leaves_a_marker_out() -> None:
    beside = Beside()
    (wait,) = beside.write(("t", 0))
    beside.turn()
    beside.asked[0][1].complete(WriteTxnMarkersResponse())
    assert wait is not None
    assert isinstance(wait.error, KafkaError)
    assert wait.error.code is ErrorCode.UNKNOWN_SERVER_ERROR


def results(*codes: tuple[int, int]) -> adding.AddPartitionsToTxnResponse:
    """Those of partitions of ``t``: index and code."""
    found = [adding.AddPartitionsToTxnPartitionResult(*each) for each in codes]
    topic = adding.AddPartitionsToTxnTopicResult("t", found)
    return adding.AddPartitionsToTxnResponse(results_by_transaction=[adding.AddPartitionsToTxnResult("tx", [topic])])


def test_a_coordinator_elsewhere_is_asked() -> None:
    beside = Beside()
    with pytest.raises(KafkaError) as unknown:
        beside.transactions.verify("tx", (5, 1), [("t", 0)])
    assert unknown.value.code is ErrorCode.NOT_COORDINATOR
    beside.world.topic(TRANSACTION_STATE, partitions=2)
    found = beside.transactions.verify("tx", (5, 1), [("t", 0), ("t", 1)])
    request, answer = beside.asked.pop()
    (transaction,) = request.transactions
    assert (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch) == ("tx", 5, 1)
    assert transaction.verify_only
    assert [(each.name, each.partitions) for each in transaction.topics] == [("t", [0, 1])]
    answer.complete(results((0, 0), (1, ErrorCode.INVALID_TXN_STATE)))
    assert found.value == {("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.INVALID_TXN_STATE}


def test_partitions_are_added_all_or_none() -> None:
    beside = Beside()
    beside.world.topic(TRANSACTION_STATE, partitions=2)
    added, refused = (beside.transactions.add("tx", (5, 1), [("t", 0), ("t", 1)]) for _ in range(2))
    (request, first), (_, second) = beside.asked
    assert not request.transactions[0].verify_only
    first.complete(results((0, 0), (1, 0)))
    assert added.done
    assert added.error is None
    second.complete(results((0, ErrorCode.OPERATION_NOT_ATTEMPTED), (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
    assert isinstance(refused.error, KafkaError)
    assert refused.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_that_an_answer_leaves_out_is_refused() -> None:
    beside = Beside()
    beside.world.topic(TRANSACTION_STATE, partitions=2)
    found = beside.transactions.verify("tx", (5, 1), [("t", 0), ("t", 1)])
    added = beside.transactions.add("tx", (5, 1), [("t", 0)])
    (_, first), (_, second) = beside.asked
    first.complete(results((1, 0), (7, 0)))
    assert found.value == {("t", 0): ErrorCode.UNKNOWN_SERVER_ERROR, ("t", 1): ErrorCode.NONE}
    second.complete(adding.AddPartitionsToTxnResponse())
    assert isinstance(added.error, KafkaError)
