"""Batches and records in the format of ``kafka-dump-log``."""

from __future__ import annotations

import json
from typing import Any

from pykbroker.cli.dump_log import BatchAt
from pykbroker.cli.dump_meaning import meaning
from pykbroker.wire.control_records import ControlRecordType, decode_control_key, decode_end_txn_marker
from pykbroker.wire.primitives import Buffer, uuid_to_str
from pykbroker.wire.records import NO_SEQUENCE, Record

_INDENT = "|"
_NO_DIRECTORY = uuid_to_str(bytes(16))
#: Control record types of KRaft.
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


def record_line(batch: BatchAt, record: Record, *, data: bool, terse: bool) -> str:
    """Return the line for a record; ``data`` adds key and value, ``terse`` prints these only."""
    words = [] if terse else [_about(batch, record)]
    if data and not batch.header.is_control:
        words += [f"{name}: {_text(content)}" for name, content in (("key", record.key), ("payload", record.value))
                  if content is not None]  # fmt: skip
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
    told = meaning("", record, control=True)
    if kind not in _TITLES or told is None or told["value"] is None:
        return f"controlType: {kind.name}({int(kind)})"
    return f"{_TITLES[kind]} {json.dumps(_as_kafka(told['value']), separators=(',', ':'))}"


def _as_kafka(value: Any) -> Any:
    """Return fields by the names of Kafka's schemas; directory ids, added later, are left out at their default."""
    if isinstance(value, list):
        return [_as_kafka(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = {name: name.split("_")[0] + "".join(map(str.capitalize, name.split("_")[1:])) for name in value}
    return {
        names[name].replace("kraft", "kRaft"): _as_kafka(each)
        for name, each in value.items()
        if not (name == "voter_directory_id" and each == _NO_DIRECTORY) and not (name == "endpoints" and each == [])
    }


def _time_of(batch: BatchAt) -> str:
    return "LogAppendTime" if batch.header.timestamp_type else "CreateTime"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _size(content: Buffer | None) -> int:
    return -1 if content is None else len(content)


def _text(content: Buffer) -> str:
    return bytes(content).decode("utf-8", "replace")
