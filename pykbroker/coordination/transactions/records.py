"""Records of ``__transaction_state`` in Kafka's layout: the transactional id, and its state or a tombstone.

Values have version 1 if the cluster's transaction.version is at least 1, else version 0 (TransactionLog of Kafka 4.4.0);
both are read.
"""

from __future__ import annotations

from typing import cast

from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.coordination.transactions.transaction import Transaction, TransactionState
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.catalogue import TRANSACTION_RECORDS
from pykbroker.wire.internal.coordinator import (
    decode_coordinator_key,
    decode_coordinator_value,
    encode_coordinator_key,
    encode_coordinator_value,
)
from pykbroker.wire.internal.transaction_log import PartitionsSchema, TransactionLogKey, TransactionLogValue

_TAGGED_SINCE = 1  # the value version with tagged fields, and the transaction version that introduced it


def record(transaction: Transaction, server_version: int) -> CoordinatorRecord:
    """A transactional id's value, in the layout of the cluster's transaction version."""
    return CoordinatorRecord(transaction.transactional_id, transaction, min(server_version, _TAGGED_SINCE))


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """The tombstone of a transactional id."""
    return CoordinatorRecord(transactional_id, None, 0)


def owner_of(record: CoordinatorRecord) -> str:
    """The transactional id."""
    return str(record.key)


def encode(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value in bytes."""
    key = encode_coordinator_key(TransactionLogKey(transactional_id=record.key))
    if record.value is None:
        return key, None
    transaction: Transaction = record.value
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is TransactionState.EMPTY else _by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    if record.value_version >= _TAGGED_SINCE:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return key, encode_coordinator_value(value, record.value_version)


def _by_topic(transaction: Transaction) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in topics.items()]


def decode(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """Decode a transactional id and its value. Raises WireError if the bytes do not match the type, or it is unknown."""
    message = cast("TransactionLogKey", decode_coordinator_key(key, TRANSACTION_RECORDS))
    if value is None:
        return tombstone(message.transactional_id)
    decoded = cast("TransactionLogValue", decode_coordinator_value(message, value, TRANSACTION_RECORDS))
    version = int.from_bytes(value[:2], "big")
    return CoordinatorRecord(message.transactional_id, _transaction(message.transactional_id, decoded), version)


def _transaction(transactional_id: str, value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise WireError(f"transaction status {value.transaction_status} is not known") from None
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            (topic.topic, index) for topic in value.transaction_partitions or () for index in topic.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )
