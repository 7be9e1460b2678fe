"""EndTxn, and aborts that the coordinator decides on: to PREPARE_COMMIT or PREPARE_ABORT, the point of no return.

A repeated request must be told from a new one. Up to transaction version 1 the epoch stays, so a repeat is a request whose
result is already the state. From version 2 every end bumps the epoch (KIP-890), so a repeat carries the previous epoch, and
these rules hold if no transaction is open:

                     abort, repeated   abort, new    commit, repeated   commit, new
    EMPTY            PRODUCER_FENCED   epoch bump    PRODUCER_FENCED    INVALID_TXN_STATE
    COMPLETE_ABORT   the same answer   epoch bump    INVALID_TXN_STATE  INVALID_TXN_STATE
    COMPLETE_COMMIT  INVALID_TXN_STATE epoch bump    the same answer    INVALID_TXN_STATE
"""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.coordination.transactions.transaction import (
    AT_REST,
    EPOCH_BUMP_SINCE,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    PREPARED,
    Transaction,
    TransactionState,
)
from pykbroker.wire.errors import ErrorCode, KafkaError

#: The result that each decided state stands for: True for commit.
_OUTCOME = {
    TransactionState.PREPARE_COMMIT: True,
    TransactionState.COMPLETE_COMMIT: True,
    TransactionState.PREPARE_ABORT: False,
    TransactionState.COMPLETE_ABORT: False,
}


def end_transaction(
    transaction: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    client_version: int,
    new_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction:
    """The next value, in a prepared state; or the same object for a repeated request.

    Raises KafkaError with INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS (the outcome is the one
    asked for, and markers are still being written) or INVALID_TXN_STATE.
    """
    if transaction is None:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if client_version < EPOCH_BUMP_SINCE:
        repeated = _check_identity(transaction, producer_id, producer_epoch)
    else:
        repeated = _check_bumped_identity(transaction, producer_id, producer_epoch)
    state = transaction.state
    if state is TransactionState.ONGOING:
        return _prepare(transaction, commit, client_version, new_producer_id, now_ms)
    if client_version >= EPOCH_BUMP_SINCE and state in AT_REST and not commit and not repeated:
        return _prepare(transaction, commit, client_version, new_producer_id, now_ms)
    if _OUTCOME.get(state) is not commit or not repeated:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    if state in PREPARED:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return transaction


def abort_ongoing(
    transaction: Transaction, server_version: int, new_producer_id: Callable[[], int], now_ms: int
) -> Transaction:
    """Abort an open transaction that timed out or whose producer was replaced, under an epoch unknown to that producer."""
    if server_version < EPOCH_BUMP_SINCE:
        return transaction.step(
            TransactionState.PREPARE_ABORT,
            now_ms,
            producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
            last_producer_epoch=NO_EPOCH,
            client_version=0,
        )
    return _prepare(transaction, False, server_version, new_producer_id, now_ms)


def _check_identity(transaction: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """Up to version 1: whether the request may be a repeat, which its result then decides. Raises KafkaError
    INVALID_PRODUCER_ID_MAPPING or PRODUCER_FENCED.
    """
    if transaction.producer_id != producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return True


def _check_bumped_identity(transaction: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """From version 2: whether the request repeats one that has bumped the epoch. Raises KafkaError
    INVALID_PRODUCER_ID_MAPPING or PRODUCER_FENCED.
    """
    rotated = (
        transaction.previous_producer_id == producer_id
        and producer_epoch == MAX_EPOCH - 1
        and transaction.producer_epoch == 0
    )
    if transaction.producer_id != producer_id and not rotated:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    bumped = transaction.producer_epoch == producer_epoch + 1
    current = transaction.producer_epoch == producer_epoch
    if transaction.state in PREPARED:
        valid = bumped
    elif transaction.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        valid = bumped or rotated or current
    else:
        valid = current
    if not valid:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return bumped or rotated


def _prepare(
    transaction: Transaction, commit: bool, client_version: int, new_producer_id: Callable[[], int], now_ms: int
) -> Transaction:
    epoch, last_epoch = transaction.producer_epoch, transaction.last_producer_epoch
    next_producer_id = NO_PRODUCER_ID
    if client_version >= EPOCH_BUMP_SINCE:
        if transaction.epoch_exhausted:
            next_producer_id = new_producer_id()
        # The last epoch is for a marker only: the client continues with the next producer id and epoch 0.
        epoch, last_epoch = min(epoch + 1, MAX_EPOCH), epoch
    return transaction.step(
        TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
        now_ms,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        next_producer_id=next_producer_id,
        # An abort without a transaction has no start time, but completed transactions must have one.
        start_ms=now_ms if transaction.state in AT_REST else transaction.start_ms,
        client_version=client_version,
    )
