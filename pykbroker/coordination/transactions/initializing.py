"""InitProducerId with a transactional id: a new epoch of the producer, which fences earlier ones (KIP-98).

    the id is new                  a new producer id, epoch 0
    at rest                        the next epoch; a new producer id if the epochs are exhausted
    a transaction is open          it is aborted first, under the next epoch, and the client must retry
    markers are being written      the client must retry

A producer that recovers from an error names its id and epoch (KIP-360): it gets the next epoch if they are the current ones,
the same answer again for a repeated request, and PRODUCER_FENCED if another producer has taken over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pykbroker.coordination.transactions.ending import abort_ongoing
from pykbroker.coordination.transactions.transaction import (
    AT_REST,
    NO_EPOCH,
    Transaction,
    TransactionState,
    is_exhausted,
)
from pykbroker.wire.errors import ErrorCode, KafkaError


class Expected(NamedTuple):
    """The producer id and epoch that a recovering producer names."""

    producer_id: int
    epoch: int


def init_producer_id(
    transaction: Transaction,
    expected: Expected | None,
    timeout_ms: int,
    *,
    server_version: int,
    new_producer_id: Callable[[], int],
    now_ms: int,
) -> Transaction:
    """The next value: in state EMPTY with the producer id and epoch to answer, or in PREPARE_ABORT, and the client must retry.

    ``transaction`` has no epoch if the transactional id is new. Raises KafkaError CONCURRENT_TRANSACTIONS or
    PRODUCER_FENCED.
    """
    if expected is not None and not _may_go_on(transaction, expected):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.state is TransactionState.ONGOING:
        return abort_ongoing(transaction, server_version, new_producer_id, now_ms)
    if transaction.state not in AT_REST:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    producer_id = transaction.producer_id
    if transaction.epoch_exhausted and (expected is None or expected.epoch == transaction.producer_epoch):
        producer_id = new_producer_id()
        epoch, last_epoch = 0, NO_EPOCH if expected is None else transaction.producer_epoch
    else:
        epoch, last_epoch = _next_epoch(transaction, expected)
    return transaction.step(
        TransactionState.EMPTY,
        now_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=-1,
    )


def _may_go_on(transaction: Transaction, expected: Expected) -> bool:
    """Whether the producer id is, or was before the last step, this transactional id's; its epoch is checked later."""
    return (
        transaction.producer_epoch == NO_EPOCH
        or expected.producer_id == transaction.producer_id
        or (expected.producer_id == transaction.previous_producer_id and is_exhausted(expected.epoch))
    )


def _next_epoch(transaction: Transaction, expected: Expected | None) -> tuple[int, int]:
    """Producer epoch and last epoch after a take-over, a recovery, or a repeated recovery."""
    epoch = transaction.producer_epoch
    if expected is None:
        return epoch + 1, NO_EPOCH
    if epoch in (NO_EPOCH, expected.epoch):
        return epoch + 1, epoch
    if expected.epoch == transaction.last_producer_epoch:
        return epoch, transaction.last_producer_epoch
    raise KafkaError(ErrorCode.PRODUCER_FENCED)
