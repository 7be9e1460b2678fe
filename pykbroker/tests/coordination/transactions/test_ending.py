"""The rules as tables: what may be asked in which state, and what is a repeat of a request that was carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pykbroker.coordination.transactions.adding import add_partitions, verify_partitions
from pykbroker.coordination.transactions.ending import abort_ongoing, end_transaction
from pykbroker.coordination.transactions.initializing import Expected, init_producer_id
from pykbroker.coordination.transactions.transaction import (
    AT_REST,
    MAX_EPOCH,
    PREPARED,
    IllegalTransition,
    Transaction,
    TransactionState,
)
from pykbroker.wire.errors import ErrorCode, KafkaError

PARTITION = ("t", 0)
NOW = 1_700_000_000_000
NEW_ID = 99

FENCED, INVALID, BUSY = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE, ErrorCode.CONCURRENT_TRANSACTIONS
SAME, COMMITS, ABORTS = "the same", TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT


def transaction(state: TransactionState, epoch: int = 5, **changes: object) -> Transaction:
    return Transaction(
        transactional_id="tx",
        producer_id=7,
        previous_producer_id=7,
        producer_epoch=epoch,
        timeout_ms=60_000,
        state=state,
        partitions=frozenset() if state in AT_REST else frozenset({PARTITION}),
        start_ms=-1 if state is TransactionState.EMPTY else NOW - 10,
        updated_ms=NOW - 5,
        **changes,
    )


def ended(before: Transaction, epoch: int, *, commit: bool, version: int, producer_id: int = 7) -> object:
    """What EndTxn comes to: an error, the state it leads to, or SAME."""
    try:
        after = end_transaction(
            before,
            producer_id,
            epoch,
            commit=commit,
            client_version=version,
            new_producer_id=lambda: NEW_ID,
            now_ms=NOW,
        )
    except KafkaError as error:
        return error.code
    return SAME if after is before else after.state


# State, then: commit and abort by the current epoch, commit and abort by the epoch before it.
VERSION_1 = [
    (TransactionState.EMPTY, INVALID, INVALID, FENCED, FENCED),
    (TransactionState.ONGOING, COMMITS, ABORTS, FENCED, FENCED),
    (TransactionState.PREPARE_COMMIT, BUSY, INVALID, FENCED, FENCED),
    (TransactionState.PREPARE_ABORT, INVALID, BUSY, FENCED, FENCED),
    (TransactionState.COMPLETE_COMMIT, SAME, INVALID, FENCED, FENCED),
    (TransactionState.COMPLETE_ABORT, INVALID, SAME, FENCED, FENCED),
]
VERSION_2 = [
    (TransactionState.EMPTY, INVALID, ABORTS, FENCED, FENCED),
    (TransactionState.ONGOING, COMMITS, ABORTS, FENCED, FENCED),
    (TransactionState.PREPARE_COMMIT, FENCED, FENCED, BUSY, INVALID),
    (TransactionState.PREPARE_ABORT, FENCED, FENCED, INVALID, BUSY),
    (TransactionState.COMPLETE_COMMIT, INVALID, ABORTS, SAME, INVALID),
    (TransactionState.COMPLETE_ABORT, INVALID, ABORTS, INVALID, SAME),
]


@pytest.mark.parametrize(("version", "table"), [(0, VERSION_1), (2, VERSION_2)], ids=["version 1", "version 2"])
def test_ends(version, table):
    for state, *expected in table:
        before = transaction(state)
        seen = [ended(before, epoch, commit=commit, version=version) for epoch in (5, 4) for commit in (True, False)]
        assert (state, *seen) == (state, *expected)


@pytest.mark.parametrize("state", list(AT_REST | PREPARED | {TransactionState.ONGOING}))
@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_nobody_ends_what_is_not_his(state, version, commit):
    assert ended(transaction(state), 6, commit=commit, version=version) is FENCED
    stranger = ended(transaction(state), 5, commit=commit, version=version, producer_id=8)
    assert stranger is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_ID_MAPPING"):
        end_transaction(None, 7, 5, commit=commit, client_version=version, new_producer_id=lambda: NEW_ID, now_ms=NOW)


def test_the_epoch_rises_with_the_end_in_version_2_only():
    for version, epoch, last in ((0, 5, -1), (2, 6, 5)):
        after = end_transaction(
            transaction(TransactionState.ONGOING),
            7,
            5,
            commit=True,
            client_version=version,
            new_producer_id=lambda: NEW_ID,
            now_ms=NOW,
        )
        assert (after.producer_epoch, after.last_producer_epoch) == (epoch, last)
        assert after.partitions == {PARTITION}
        completed = after.completed(NOW + 1)
        assert (completed.state, completed.producer_epoch, completed.partitions) == (
            TransactionState.COMPLETE_COMMIT,
            epoch,
            frozenset(),
        )


def test_the_last_epoch_is_followed_by_a_new_producer_id():
    before = transaction(TransactionState.ONGOING, MAX_EPOCH - 1)
    after = end_transaction(
        before, 7, MAX_EPOCH - 1, commit=True, client_version=2, new_producer_id=lambda: NEW_ID, now_ms=NOW
    )
    assert (after.producer_id, after.producer_epoch, after.next_producer_id) == (7, MAX_EPOCH, NEW_ID)
    completed = after.completed(NOW)
    assert (completed.producer_id, completed.producer_epoch, completed.next_producer_id) == (NEW_ID, 0, -1)
    # The answer was lost: the client asks again with what it had.
    assert ended(completed, MAX_EPOCH - 1, commit=True, version=2) == SAME
    assert ended(completed, MAX_EPOCH - 1, commit=False, version=2) is INVALID


def test_an_abort_by_the_coordinator_fences():
    older = abort_ongoing(transaction(TransactionState.ONGOING), 1, lambda: NEW_ID, NOW)
    assert (older.state, older.producer_epoch, older.last_producer_epoch) == (TransactionState.PREPARE_ABORT, 6, -1)
    newer = abort_ongoing(transaction(TransactionState.ONGOING), 2, lambda: NEW_ID, NOW)
    assert (newer.state, newer.producer_epoch, newer.last_producer_epoch) == (TransactionState.PREPARE_ABORT, 6, 5)
    used_up = abort_ongoing(transaction(TransactionState.ONGOING, MAX_EPOCH), 1, lambda: NEW_ID, NOW)
    assert used_up.producer_epoch == MAX_EPOCH


def test_no_step_leads_where_no_rule_allows():
    allowed = {
        (before, after)
        for before in TransactionState
        for after in TransactionState
        if not _refused(transaction(before), after)
    }
    ends = {
        (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT),
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
    }
    aborts = {(before, TransactionState.PREPARE_ABORT) for before in AT_REST | {TransactionState.ONGOING}}
    begins = {(before, TransactionState.ONGOING) for before in AT_REST | {TransactionState.ONGOING}}
    takes_over = {(before, TransactionState.EMPTY) for before in AT_REST}
    assert allowed == ends | aborts | begins | takes_over | {
        (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
    }


def _refused(before: Transaction, state: TransactionState) -> bool:
    try:
        before.step(state, NOW)
    except IllegalTransition:
        return True
    return False


# ---- InitProducerId


def initialised(before: Transaction, expected: Expected | None = None, version: int = 2) -> object:
    """The new identity and last epoch, the state that it must wait for, or an error."""
    try:
        after = init_producer_id(
            before, expected, 30_000, server_version=version, new_producer_id=lambda: NEW_ID, now_ms=NOW
        )
    except KafkaError as error:
        return error.code
    if after.state is not TransactionState.EMPTY:
        return after.state
    assert (after.timeout_ms, after.partitions, after.start_ms) == (30_000, frozenset(), -1)
    return after.producer_id, after.producer_epoch, after.last_producer_epoch


NEW = Transaction(transactional_id="tx", producer_id=7, timeout_ms=1)


def test_a_new_transactional_id_begins_at_epoch_0():
    assert initialised(NEW) == (7, 0, -1)
    assert initialised(NEW, Expected(1234, 9)) == (7, 0, -1)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_a_take_over_and_a_recovery(state):
    before = transaction(state, last_producer_epoch=4)
    assert initialised(before) == (7, 6, -1)
    assert initialised(before, Expected(7, 5)) == (7, 6, 5)
    assert initialised(before, Expected(7, 4)) == (7, 5, 4)  # a repeat
    assert initialised(before, Expected(7, 3)) is FENCED
    assert initialised(before, Expected(8, 5)) is FENCED


def test_when_the_epochs_are_used_up():
    before = transaction(TransactionState.EMPTY, MAX_EPOCH - 1)
    assert initialised(before) == (NEW_ID, 0, -1)
    assert initialised(before, Expected(7, MAX_EPOCH - 1)) == (NEW_ID, 0, MAX_EPOCH - 1)
    rotated = replace(transaction(TransactionState.EMPTY, 0), producer_id=NEW_ID, last_producer_epoch=MAX_EPOCH - 1)
    assert initialised(rotated, Expected(7, MAX_EPOCH - 1)) == (NEW_ID, 0, MAX_EPOCH - 1)  # a repeat
    assert initialised(rotated, Expected(7, 3)) is FENCED


def test_while_something_is_open():
    assert initialised(transaction(TransactionState.ONGOING)) is TransactionState.PREPARE_ABORT
    assert initialised(transaction(TransactionState.ONGOING), Expected(7, 5)) is TransactionState.PREPARE_ABORT
    assert initialised(transaction(TransactionState.ONGOING), Expected(8, 5)) is FENCED
    for state in PREPARED:
        assert initialised(transaction(state)) is BUSY


# ---- AddPartitionsToTxn


def test_partitions_are_added():
    other = frozenset({("t", 1)})
    begun = add_partitions(transaction(TransactionState.COMPLETE_COMMIT), 7, 5, other, client_version=2, now_ms=NOW)
    assert (begun.state, begun.partitions, begun.start_ms, begun.client_version) == (
        TransactionState.ONGOING,
        other,
        NOW,
        2,
    )
    open_one = transaction(TransactionState.ONGOING)
    more = add_partitions(open_one, 7, 5, other, client_version=0, now_ms=NOW)
    assert (more.partitions, more.start_ms) == (other | {PARTITION}, open_one.start_ms)
    assert add_partitions(open_one, 7, 5, frozenset({PARTITION}), client_version=0, now_ms=NOW) is open_one


def test_who_may_add_and_ask():
    partitions = frozenset({PARTITION, ("t", 1)})
    for before, producer_id, epoch, code in (
        (None, 7, 5, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (transaction(TransactionState.EMPTY), 8, 5, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (transaction(TransactionState.ONGOING), 7, 4, FENCED),
        (transaction(TransactionState.ONGOING), 7, 6, FENCED),
        (transaction(TransactionState.PREPARE_COMMIT), 7, 5, BUSY),
        (transaction(TransactionState.PREPARE_ABORT), 7, 5, BUSY),
    ):
        with pytest.raises(KafkaError) as added:
            add_partitions(before, producer_id, epoch, partitions, client_version=0, now_ms=NOW)
        with pytest.raises(KafkaError) as asked:
            verify_partitions(before, producer_id, epoch, partitions)
        assert added.value.code is asked.value.code is code
    assert verify_partitions(transaction(TransactionState.ONGOING), 7, 5, partitions) == {
        PARTITION: ErrorCode.NONE,
        ("t", 1): ErrorCode.TRANSACTION_ABORTABLE,
    }
