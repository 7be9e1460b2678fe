"""Control records: their keys, and the markers that end a transaction (KIP-98).

A control batch has one of them. The key is a version (int16) and a type (int16), which determines the value. The values
of KRaft's types are messages in ``wire.internal``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from pykbroker.wire.errors import WireError
from pykbroker.wire.records import NO_LEADER_EPOCH, Record, encode_batch

_KEY = struct.Struct(">hh")
_END_TXN_MARKER = struct.Struct(">hi")
_VERSION = 0


class ControlRecordType(IntEnum):
    """Types of control records (org.apache.kafka.common.record.internal.ControlRecordType)."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(slots=True, frozen=True)
class EndTxnMarker:
    """Whether a transaction was committed, and the epoch of the coordinator that ended it."""

    commit: bool
    coordinator_epoch: int


def encode_control_key(kind: ControlRecordType) -> bytes:
    """The key of a control record."""
    return _KEY.pack(_VERSION, kind)


def decode_control_key(key: bytes | None) -> ControlRecordType:
    """The type in a control record's key; UNKNOWN for unknown types. Raises WireError for a malformed key."""
    if key is None or len(key) < _KEY.size:
        raise WireError("a control record without a type")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise WireError(f"a control record key of version {version}")
    return ControlRecordType(kind) if kind in _TYPES else ControlRecordType.UNKNOWN


_TYPES = frozenset(ControlRecordType)


def decode_end_txn_marker(record: Record) -> EndTxnMarker:
    """The marker in a control record of type ABORT or COMMIT. Raises WireError for anything else."""
    kind = decode_control_key(record.key)
    if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        raise WireError(f"a control record of type {kind.name} does not end a transaction")
    if record.value is None or len(record.value) < _END_TXN_MARKER.size:
        raise WireError("the end of a transaction without a coordinator epoch")
    version, coordinator_epoch = _END_TXN_MARKER.unpack_from(record.value)
    if version < 0:
        raise WireError(f"a transaction marker of version {version}")
    return EndTxnMarker(kind is ControlRecordType.COMMIT, coordinator_epoch)


def encode_end_txn_batch(
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The control batch with ``marker``, as a partition's leader appends it. ``timestamp`` is in milliseconds."""
    kind = ControlRecordType.COMMIT if marker.commit else ControlRecordType.ABORT
    record = Record(
        timestamp=timestamp,
        key=encode_control_key(kind),
        value=_END_TXN_MARKER.pack(_VERSION, marker.coordinator_epoch),
    )
    return encode_batch(
        [record],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )
