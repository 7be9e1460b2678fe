"""Every event in every state of a transactional id: what is answered, and what becomes of it.

The table is whole: a state or an event without a line fails. The id's producer is 7 in epoch 5; the partition t-0 is in
the transaction wherever one is open. DEAD and PREPARE_EPOCH_FENCE are in Kafka's layout and never written: what is asked
of them is refused, or a defect that is told as such.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykbroker.coordination.transactions.adding import add_partitions, verify_partitions
from pykbroker.coordination.transactions.ending import abort_ongoing, end_transaction
from pykbroker.coordination.transactions.initializing import Expected, init_producer_id
from pykbroker.coordination.transactions.records import record
from pykbroker.coordination.transactions.shard import TransactionShard
from pykbroker.coordination.transactions.transaction import MAX_EPOCH, IllegalTransition, Transaction, TransactionState
from pykbroker.tests.coordination.transactions.test_ending import NEW_ID, NOW, transaction
from pykbroker.wire.errors import ErrorCode, KafkaError

FENCED, BUSY, INVALID = ErrorCode.PRODUCER_FENCED, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE
UNMAPPED, ABORTABLE = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.TRANSACTION_ABORTABLE
OK = ErrorCode.NONE
SAME, ILLEGAL = "the same", "illegal"

Outcome = Callable[[Transaction], Transaction]


def init(expected: Expected | None = None, *, version: int = 2) -> Outcome:
    return lambda before: init_producer_id(
        before, expected, 60_000, server_version=version, new_producer_id=lambda: NEW_ID, now_ms=NOW
    )


def add(epoch: int = 5, producer_id: int = 7, index: int = 1) -> Outcome:
    where = frozenset({("t", index)})
    return lambda before: add_partitions(before, producer_id, epoch, where, client_version=2, now_ms=NOW)


def verify(index: int) -> Callable[[Transaction], ErrorCode]:
    return lambda before: verify_partitions(before, 7, 5, [("t", index)])["t", index]


def end(epoch: int, version: int, *, commit: bool) -> Outcome:
    return lambda before: end_transaction(
        before, 7, epoch, commit=commit, client_version=version, new_producer_id=lambda: NEW_ID, now_ms=NOW
    )


def in_shard(before: Transaction) -> TransactionShard:
    shard = TransactionShard()
    shard.replay(record(before, 2))
    return shard


EVENTS: dict[str, Callable] = {
    "a new incarnation": init(),
    "a new incarnation of transaction version 1": init(version=1),
    "a recovery": init(Expected(7, 5)),
    "a recovery that was answered already": init(Expected(7, 4)),
    "a recovery of a fenced producer": init(Expected(7, 3)),
    "a recovery of a stranger": init(Expected(8, 5)),
    "a partition is added": add(),
    "a partition is added again": add(index=0),
    "a partition is added by a fenced producer": add(epoch=4),
    "a partition is added by a stranger": add(producer_id=8),
    "a partition of the transaction is verified": verify(0),
    "another partition is verified": verify(1),
    "commit, version 1": end(5, 0, commit=True),
    "abort, version 1": end(5, 0, commit=False),
    "commit by a fenced producer, version 1": end(4, 0, commit=True),
    "commit, version 2": end(5, 2, commit=True),
    "abort, version 2": end(5, 2, commit=False),
    "commit repeated, version 2": end(4, 2, commit=True),
    "abort repeated, version 2": end(4, 2, commit=False),
    "commit by a fenced producer, version 2": end(3, 2, commit=True),
    "the coordinator aborts": lambda before: abort_ongoing(before, 2, lambda: NEW_ID, NOW),
    "the markers are written": lambda before: before.completed(NOW),
    "is late": lambda before: list(in_shard(before).timed_out(before.start_ms + before.timeout_ms + 1)) == [before],
    "is forgotten": lambda before: list(in_shard(before).expired(before.updated_ms + 9, 9)) == [before],
    "is completed after a restart": lambda before: in_shard(before).begin("tx").effects == [before],
}
#: For each event and state, in the order of their numbers: EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT,
#: COMPLETE_ABORT, DEAD, PREPARE_EPOCH_FENCE. A pair is the next state and its epoch.
TABLE: dict[str, tuple] = {
    "a new incarnation": (
        (TransactionState.EMPTY, 6),
        (TransactionState.PREPARE_ABORT, 6),
        BUSY,
        BUSY,
        (TransactionState.EMPTY, 6),
        (TransactionState.EMPTY, 6),
        BUSY,
        BUSY,
    ),
    "a new incarnation of transaction version 1": (
        (TransactionState.EMPTY, 6),
        (TransactionState.PREPARE_ABORT, 6),
        BUSY,
        BUSY,
        (TransactionState.EMPTY, 6),
        (TransactionState.EMPTY, 6),
        BUSY,
        BUSY,
    ),
    "a recovery": (
        (TransactionState.EMPTY, 6),
        (TransactionState.PREPARE_ABORT, 6),
        BUSY,
        BUSY,
        (TransactionState.EMPTY, 6),
        (TransactionState.EMPTY, 6),
        BUSY,
        BUSY,
    ),
    "a recovery that was answered already": (
        (TransactionState.EMPTY, 5),
        (TransactionState.PREPARE_ABORT, 6),
        BUSY,
        BUSY,
        (TransactionState.EMPTY, 5),
        (TransactionState.EMPTY, 5),
        BUSY,
        BUSY,
    ),
    "a recovery of a fenced producer": (
        FENCED,
        (TransactionState.PREPARE_ABORT, 6),
        BUSY,
        BUSY,
        FENCED,
        FENCED,
        BUSY,
        BUSY,
    ),
    "a recovery of a stranger": (FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED),
    "a partition is added": (
        (TransactionState.ONGOING, 5),
        (TransactionState.ONGOING, 5),
        BUSY,
        BUSY,
        (TransactionState.ONGOING, 5),
        (TransactionState.ONGOING, 5),
        ILLEGAL,
        ILLEGAL,
    ),
    "a partition is added again": (
        (TransactionState.ONGOING, 5),
        SAME,
        BUSY,
        BUSY,
        (TransactionState.ONGOING, 5),
        (TransactionState.ONGOING, 5),
        ILLEGAL,
        ILLEGAL,
    ),
    "a partition is added by a fenced producer": (FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED),
    "a partition is added by a stranger": (
        UNMAPPED,
        UNMAPPED,
        UNMAPPED,
        UNMAPPED,
        UNMAPPED,
        UNMAPPED,
        UNMAPPED,
        UNMAPPED,
    ),
    "a partition of the transaction is verified": (ABORTABLE, OK, BUSY, BUSY, ABORTABLE, ABORTABLE, OK, OK),
    "another partition is verified": (ABORTABLE, ABORTABLE, BUSY, BUSY, ABORTABLE, ABORTABLE, ABORTABLE, ABORTABLE),
    "commit, version 1": (
        INVALID,
        (TransactionState.PREPARE_COMMIT, 5),
        BUSY,
        INVALID,
        SAME,
        INVALID,
        INVALID,
        INVALID,
    ),
    "abort, version 1": (INVALID, (TransactionState.PREPARE_ABORT, 5), INVALID, BUSY, INVALID, SAME, INVALID, INVALID),
    "commit by a fenced producer, version 1": (FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED),
    "commit, version 2": (
        INVALID,
        (TransactionState.PREPARE_COMMIT, 6),
        FENCED,
        FENCED,
        INVALID,
        INVALID,
        INVALID,
        INVALID,
    ),
    "abort, version 2": (
        (TransactionState.PREPARE_ABORT, 6),
        (TransactionState.PREPARE_ABORT, 6),
        FENCED,
        FENCED,
        (TransactionState.PREPARE_ABORT, 6),
        (TransactionState.PREPARE_ABORT, 6),
        INVALID,
        INVALID,
    ),
    "commit repeated, version 2": (FENCED, FENCED, BUSY, INVALID, SAME, INVALID, FENCED, FENCED),
    "abort repeated, version 2": (FENCED, FENCED, INVALID, BUSY, INVALID, SAME, FENCED, FENCED),
    "commit by a fenced producer, version 2": (FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED, FENCED),
    "the coordinator aborts": (
        (TransactionState.PREPARE_ABORT, 6),
        (TransactionState.PREPARE_ABORT, 6),
        ILLEGAL,
        ILLEGAL,
        (TransactionState.PREPARE_ABORT, 6),
        (TransactionState.PREPARE_ABORT, 6),
        ILLEGAL,
        ILLEGAL,
    ),
    "the markers are written": (
        ILLEGAL,
        ILLEGAL,
        (TransactionState.COMPLETE_COMMIT, 5),
        (TransactionState.COMPLETE_ABORT, 5),
        ILLEGAL,
        ILLEGAL,
        ILLEGAL,
        ILLEGAL,
    ),
    "is late": (False, True, False, False, False, False, False, False),
    "is forgotten": (True, False, False, False, True, True, False, False),
    "is completed after a restart": (False, False, True, True, False, False, False, False),
}


def outcome(event: Callable, before: Transaction) -> object:
    """An error, SAME, ILLEGAL, what the event says, or the next state with what changed of the identity."""
    try:
        after = event(before)
    except KafkaError as error:
        return error.code
    except IllegalTransition:
        return ILLEGAL
    if not isinstance(after, Transaction):
        return after
    if after is before:
        return SAME
    return after.state, after.producer_epoch


def test_the_table_is_whole():
    assert TABLE.keys() == EVENTS.keys()
    assert {len(row) for row in TABLE.values()} == {len(TransactionState)}


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_in_every_state(event):
    for state, expected in zip(TransactionState, TABLE[event], strict=True):
        before = transaction(state, last_producer_epoch=4)
        assert (state, outcome(EVENTS[event], before)) == (state, expected)


@pytest.mark.parametrize(
    "state", [TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]
)
def test_when_the_epochs_are_used_up(state):
    """At the last epoch that a producer may have, every way on brings a new producer id; MAX_EPOCH is for markers."""
    before = transaction(state, MAX_EPOCH - 1)
    taken_over = init()(before)
    assert (taken_over.producer_id, taken_over.producer_epoch) == (NEW_ID, 0)
    for prepared in (end(MAX_EPOCH - 1, 2, commit=False)(before), abort_ongoing(before, 2, lambda: NEW_ID, NOW)):
        assert (prepared.producer_id, prepared.producer_epoch) == (7, MAX_EPOCH)
        completed = prepared.completed(NOW)
        assert (completed.producer_id, completed.producer_epoch, completed.previous_producer_id) == (NEW_ID, 0, 7)
