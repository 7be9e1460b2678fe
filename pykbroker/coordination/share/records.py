"""Records of ``__share_group_state`` in Kafka's layouts: a snapshot of a share partition, and updates since (version 0)."""

from __future__ import annotations

import logging
from typing import Any

from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.coordination.share.state import SharePartitionKey, ShareState, StateBatch
from pykbroker.wire.internal.catalogue import SHARE_RECORDS
from pykbroker.wire.internal.coordinator import (
    decode_coordinator_key,
    decode_coordinator_value,
    encode_coordinator_key,
    encode_coordinator_value,
)
from pykbroker.wire.internal.framing import UnknownRecordType
from pykbroker.wire.internal.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from pykbroker.wire.internal.share_snapshot import StateBatch as SnapshotBatch
from pykbroker.wire.internal.share_update import ShareUpdateKey, ShareUpdateValue
from pykbroker.wire.internal.share_update import StateBatch as UpdateBatch

log = logging.getLogger(__name__)

_VERSION = 0


def snapshot(key: SharePartitionKey, state: ShareState) -> CoordinatorRecord:
    """All that is known of a share partition."""
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=[SnapshotBatch(*each) for each in state.batches],
    )
    return CoordinatorRecord(ShareSnapshotKey(*key), value, _VERSION)


def update(key: SharePartitionKey, state: ShareState) -> CoordinatorRecord:
    """What changed: ``batches`` has only those."""
    value = ShareUpdateValue(
        snapshot_epoch=state.snapshot_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        state_batches=[UpdateBatch(*each) for each in state.batches],
    )
    return CoordinatorRecord(ShareUpdateKey(*key), value, _VERSION)


def tombstone(key: SharePartitionKey) -> CoordinatorRecord:
    """The end of a share partition."""
    return CoordinatorRecord(ShareSnapshotKey(*key), None, _VERSION)


def key_of(record: CoordinatorRecord) -> SharePartitionKey:
    """The share partition of a record."""
    key = record.key
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)


def state_of(value: ShareSnapshotValue) -> ShareState:
    """The state that a snapshot has."""
    return ShareState(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        batches_of(value),
        value.create_timestamp,
        value.write_timestamp,
    )


def batches_of(value: Any) -> tuple[StateBatch, ...]:
    """The batches of a snapshot or an update."""
    return tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
        for each in value.state_batches
    )


def owner_of(record: CoordinatorRecord) -> str:
    """The key of the coordinator: group, topic id and partition in one."""
    return str(key_of(record))


def encode(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value in bytes."""
    value = None if record.value is None else encode_coordinator_value(record.value, record.value_version)
    return encode_coordinator_key(record.key), value


def decode(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """Decode a record; None for an unknown type. Raises WireError if the bytes do not match the type."""
    try:
        message = decode_coordinator_key(key, SHARE_RECORDS)
    except UnknownRecordType as error:
        log.warning("Skipping a record of __share_group_state: %s", error)
        return None
    if value is None:
        return CoordinatorRecord(message, None, 0)
    version = int.from_bytes(value[:2], "big")
    return CoordinatorRecord(message, decode_coordinator_value(message, value, SHARE_RECORDS), version)
