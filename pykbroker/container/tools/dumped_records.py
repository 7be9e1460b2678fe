"""Batches and records in the format of ``kafka-dump-log``."""

from __future__ import annotations

from pykbroker.cli.dump_log import BatchAt
from pykbroker.client.internal_records import control_value
from pykbroker.container.tools.record_decoders import Decoder
from pykbroker.container.tools.record_json import as_json, text
from pykbroker.wire.control_records import ControlRecordType, decode_control_key, decode_end_txn_marker
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import NO_SEQUENCE, Record

_INDENT = "|"
#: What KRaft writes for itself.
_TITLES = {
    ControlRecordType.LEADER_CHANGE: "LeaderChange:",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlRecordType.KRAFT_VERSION: "KRaftVersion",
    ControlRecordType.KRAFT_VOTERS: "KRaftVoters",
}
_NEVER = "OptionalLong.empty"


def batch_line(batch: BatchAt) -> str:
    """Return the line for a batch header."""
    header = batch.header
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else _NEVER
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"isTransactional: {_flag(header.is_transactional)} isControl: {_flag(header.is_control)} deleteHorizonMs: {horizon} "
        f"position: {batch.position} {_time_of(batch)}: {header.max_timestamp} size: {header.size} magic: {header.magic} "
        f"compresscodec: {header.compression.name.lower()} crc: {header.crc} isvalid: {_flag(batch.crc_ok())}"
    )


def record_line(batch: BatchAt, record: Record, *, decoder: Decoder | None, terse: bool) -> str:
    """``decoder``: with key and value, as it has them; ``terse``: with them alone. Raises ToolError."""
    words = [] if terse else [_about(batch, record)]
    if decoder is not None and not batch.header.is_control:
        shown = zip(("key", "payload"), decoder(record), strict=True)
        words += [f"{name}: {content}" for name, content in shown if content is not None]
    return " ".join([_INDENT, *words]) if words else ""


def _about(batch: BatchAt, record: Record) -> str:
    header = batch.header
    sequence = NO_SEQUENCE
    if header.base_sequence != NO_SEQUENCE:
        sequence = (header.base_sequence + record.offset - header.base_offset) & 0x7FFFFFFF
    about = (
        f"offset: {record.offset} {_time_of(batch)}: {record.timestamp} keySize: {_size(record.key)} "
        f"valueSize: {_size(record.value)} sequence: {sequence} headerKeys: [{','.join(name for name, _ in record.headers)}]"
    )
    return f"{about} {_meaning(record)}" if header.is_control else about


def _meaning(record: Record) -> str:
    """Return the content of a control record."""
    kind = decode_control_key(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return f"endTxnMarker: {kind.name} coordinatorEpoch: {decode_end_txn_marker(record).coordinator_epoch}"
    value = control_value(record)
    if kind not in _TITLES or value is None:
        return f"controlType: {kind.name}({int(kind)})"
    message, version = value
    return f"{_TITLES[kind]} {text(as_json(message, version))}"


def _time_of(batch: BatchAt) -> str:
    return "LogAppendTime" if batch.header.timestamp_type else "CreateTime"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _size(content: Buffer | None) -> int:
    return -1 if content is None else len(content)
