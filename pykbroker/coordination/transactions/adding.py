"""AddPartitionsToTxn: adds partitions to a transaction before anything is written to them.

Partition leaders and group coordinators send it too: to verify that a partition is in the transaction (transaction version
1, KIP-890), or to add it when its first batch arrives (version 2).
"""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.coordination.transactions.transaction import (
    AT_REST,
    PREPARED,
    TopicPartition,
    Transaction,
    TransactionState,
)
from pykbroker.wire.errors import ErrorCode, KafkaError


def add_partitions(
    transaction: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
    *,
    client_version: int,
    now_ms: int,
) -> Transaction:
    """The next value, or the same object if no partition is new.

    Raises KafkaError with INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED or CONCURRENT_TRANSACTIONS.
    """
    transaction = _current(transaction, producer_id, producer_epoch)
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return transaction
    return transaction.step(
        TransactionState.ONGOING,
        now_ms,
        partitions=transaction.partitions | partitions,
        start_ms=now_ms if transaction.state in AT_REST else transaction.start_ms,
        client_version=client_version,
    )


def verify_partitions(
    transaction: Transaction | None, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """For each partition NONE, or TRANSACTION_ABORTABLE if it is not in the transaction.

    Raises what ``add_partitions`` raises.
    """
    known = _current(transaction, producer_id, producer_epoch).partitions
    return {each: ErrorCode.NONE if each in known else ErrorCode.TRANSACTION_ABORTABLE for each in partitions}


def _current(transaction: Transaction | None, producer_id: int, producer_epoch: int) -> Transaction:
    """The transaction if it is this producer's and open to changes. Raises KafkaError
    INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED or CONCURRENT_TRANSACTIONS.
    """
    if transaction is None or transaction.producer_id != producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.state in PREPARED:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return transaction
