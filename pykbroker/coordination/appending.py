"""Appends a coordinator's records and replays them into the shard in the same turn."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.partitions.internal_records import append_internal, batches_that_fit
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.outcome import Outcome
    from pykbroker.coordination.shard import RecordCodec
    from pykbroker.coordination.shards import Loaded
    from pykbroker.partitions.internal_records import CoordinatorBatch

log = logging.getLogger(__name__)

#: Errors of the log, and the error that clients of a coordinator get for each (Kafka's CoordinatorOperationExceptionHelper
#: and TransactionStateManager).
_SHOWN_AS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def client_error(code: ErrorCode) -> ErrorCode:
    """The error that clients of a coordinator get for an error of the log."""
    return _SHOWN_AS.get(code, code)


_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)

#: Results after which independent records are appended further; after any other error the log accepts nothing.
GOES_ON = (None, *map(client_error, _TOO_LARGE))


def append(loaded: Loaded[Any], outcome: Outcome, codec: RecordCodec, now_ms: int) -> ErrorCode | None:
    """Append the records of a step and replay them; returns the error code for clients."""
    if not outcome.atomic:
        return _append_each(loaded, outcome.records, codec, now_ms)
    encoded = [codec.encode(each) for each in outcome.records]
    failure = _append(loaded, codec, outcome.records, encoded, now_ms, outcome.producer)
    return None if failure is None else client_error(failure)


def append_encoded(loaded: Loaded[Any], key: str, batch: CoordinatorBatch, now_ms: int) -> ErrorCode | None:
    """Append a batch of records of one key, which the caller applies; returns the error code for clients."""
    try:
        first, committed = batch.append(loaded.partition, now_ms)
    except KafkaError as error:
        log.warning("Coordinator records cannot be appended to %r: %s", loaded.partition, error)
        return client_error(error.code)
    if committed is not None:
        loaded.uncommitted([key], first + batch.count)
    return None


def _append_each(
    loaded: Loaded[Any], records: list[CoordinatorRecord], codec: RecordCodec, now_ms: int
) -> ErrorCode | None:
    """Append independent records in as many batches as needed.

    A record too large for any batch is skipped, and with it the later records of its owner, for instance the tombstone of
    a group. Returns the first error.
    """
    first_failure: ErrorCode | None = None
    passed_over: set[str] = set()
    encoded = [codec.encode(record) for record in records]
    for some in batches_that_fit(loaded.partition.log.config, encoded):
        kept, batch = records[some], encoded[some]
        if passed_over.intersection(map(codec.owner_of, kept)):
            kept = [each for each in kept if codec.owner_of(each) not in passed_over]
            batch = [codec.encode(record) for record in kept]
        failure = _append(loaded, codec, kept, batch, now_ms) if kept else None
        if failure is None:
            continue
        first_failure = first_failure or client_error(failure)
        if failure not in _TOO_LARGE:
            return first_failure
        passed_over.update(map(codec.owner_of, kept))
    return first_failure


def _append(
    loaded: Loaded[Any],
    codec: RecordCodec,
    records: list[CoordinatorRecord],
    batch: list[tuple[bytes, bytes | None]],
    now_ms: int,
    producer: tuple[int, int] | None = None,
) -> ErrorCode | None:
    """Append one batch and replay it."""
    try:
        first, committed = append_internal(loaded.partition, batch, now_ms, producer)
    except KafkaError as error:
        log.warning("Coordinator records cannot be appended to %r: %s", loaded.partition, error)
        return error.code
    if committed is not None:
        loaded.uncommitted(map(codec.owner_of, records), first + len(records))
    producer_id = -1 if producer is None else producer[0]
    replay = loaded.shard.replay
    for offset, record in enumerate(records, first):
        replay(CoordinatorRecord(record.key, record.value, record.value_version, producer_id, offset))
    return None
