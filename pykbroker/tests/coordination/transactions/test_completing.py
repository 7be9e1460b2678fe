"""From a decided transaction to a completed one, by a port that keeps what it is asked."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.transactions.completing import Completion
from pykbroker.coordination.transactions.transaction import Transaction, TransactionState
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError

PARTITIONS = frozenset({("t", 0), ("t", 1)})


class Leaders:
    """A ``MarkerPort`` whose leaders answer when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, int], Deferred[None]]] = []
        #: What the next calls raise.
        self.fails: list[Exception] = []

    def write(self, where, marker, *, producer_id, producer_epoch, transaction_version) -> Deferred[None]:
        if self.fails:
            raise self.fails.pop()
        assert (marker.commit, marker.coordinator_epoch, producer_id, producer_epoch) == (True, 1, 7, 5)
        answer: Deferred[None] = Deferred()
        self.asked.append((where, answer))
        return answer

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> list[tuple[str, int]]:
        asked, self.asked = self.asked, []
        for _, answer in asked:
            answer.fail(KafkaError(code)) if code else answer.complete(None)
        return [where for where, _ in asked]


class Completing:
    """One transaction; ``finishes`` are the answers to its completion, ``wanted`` ends with its shard."""

    def __init__(self, *finishes: bool | Exception, fails: tuple[Exception, ...] = ()) -> None:
        self.world = MemoryCluster(brokers=2)
        self.world.create(NewTopic("t", -1, -1, [(0, [1, 2])]))
        self.world.stop_broker(1)
        self.runtime = self.world.cluster.runtime
        self.leaders = Leaders()
        self.leaders.fails = list(fails)
        self.finishes = list(finishes)
        self.wanted = True
        prepared = Transaction(
            transactional_id="tx",
            producer_id=7,
            producer_epoch=5,
            timeout_ms=1,
            state=TransactionState.PREPARE_COMMIT,
            partitions=PARTITIONS,
        )
        Completion(
            self.runtime,
            self.leaders,
            prepared,
            coordinator=self.world.partition("t"),
            retry_ms=100,
            wanted=lambda: self.wanted,
            finished=self.finish,
        ).run()

    def finish(self) -> bool:
        answer = self.finishes.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def advance(self, ms: int) -> None:
        self.world.advance(ms)


def test_it_is_complete_when_all_leaders_have_committed_the_marker():
    completing = Completing(True)
    assert completing.finishes == [True]
    assert completing.leaders.answer() == sorted(PARTITIONS)
    assert completing.finishes == []


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS])
def test_a_leader_that_cannot_is_asked_again(code):
    completing = Completing(True)
    assert completing.leaders.answer(code) == sorted(PARTITIONS)
    completing.advance(100)
    assert completing.leaders.answer() == sorted(PARTITIONS)
    assert completing.finishes == []


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_where_it_is_over_no_marker_is_needed(code):
    completing = Completing(True)
    completing.leaders.answer(code)
    assert completing.finishes == []


def test_a_completion_that_cannot_be_appended_is_tried_again_as_long_as_the_shard_is_there():
    completing = Completing(False, False)
    completing.leaders.answer()
    completing.advance(100)
    assert completing.finishes == []
    completing.wanted = False
    completing.advance(1000)
    assert completing.runtime.timers.next_deadline() is None, "nobody is left to want it"


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), RuntimeError("nobody foresaw it")])
def test_whatever_fails_the_transaction_is_completed_in_the_end(error, caplog):
    completing = Completing(error, True, fails=(error,))
    assert completing.leaders.answer() == [("t", 1)], "the other marker could not be asked for"
    completing.advance(100)
    assert completing.leaders.answer() == [("t", 0)]
    completing.advance(1000)
    assert completing.finishes == []
    assert "Unhandled error while completing a transaction of producer id 7" in caplog.text
