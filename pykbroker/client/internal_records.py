"""Decodes the records of internal topics: ``__consumer_offsets``, ``__cluster_metadata`` and the like."""

from __future__ import annotations

import base64
from typing import Any

from pykbroker.wire.control_records import ControlRecordType, decode_control_key, decode_end_txn_marker
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.catalogue import GROUP_RECORDS, SHARE_RECORDS, TRANSACTION_RECORDS
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.coordinator import decode_coordinator_key, decode_coordinator_value, decode_versioned
from pykbroker.wire.internal.framing import record_class
from pykbroker.wire.internal.group_metadata import GroupMetadataValue
from pykbroker.wire.internal.metadata import decode_metadata_record
from pykbroker.wire.message import Message, WireStruct
from pykbroker.wire.primitives import uuid_to_str
from pykbroker.wire.records import Record

_COORDINATOR_TOPICS = {
    "__consumer_offsets": GROUP_RECORDS,
    "__transaction_state": TRANSACTION_RECORDS,
    "__share_group_state": SHARE_RECORDS,
}
_METADATA_TOPIC = "__cluster_metadata"
_CONTROL_VALUES = {
    ControlRecordType.LEADER_CHANGE: ("leader_change_message", "LeaderChangeMessage"),
    ControlRecordType.SNAPSHOT_HEADER: ("snapshot_header_record", "SnapshotHeaderRecord"),
    ControlRecordType.SNAPSHOT_FOOTER: ("snapshot_footer_record", "SnapshotFooterRecord"),
    ControlRecordType.KRAFT_VERSION: ("kraft_version_record", "KRaftVersionRecord"),
    ControlRecordType.KRAFT_VOTERS: ("voters_record", "VotersRecord"),
}
_UUID_SIZE = 16


def meaning(topic: str, record: Record, *, control: bool) -> dict[str, Any] | None:
    """Return a record of an internal topic or control batch as plain values; None for users' records.

    ``{"type": ..., "key": {...}, "value": {...} or None}``. Raises WireError for a record that cannot be read.
    """
    if control:
        return _control(record)
    if topic == _METADATA_TOPIC:
        if record.value is None:
            raise WireError("a metadata record without a value")
        message = decode_metadata_record(record.value)
        return {"type": type(message).__name__, "key": None, "value": plain(message)}
    if topic in _COORDINATOR_TOPICS:
        return _coordinator(record, _COORDINATOR_TOPICS[topic])
    return None


def _control(record: Record) -> dict[str, Any]:
    kind = decode_control_key(record.key)
    value: dict[str, Any] | None = None
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        value = {"coordinator_epoch": decode_end_txn_marker(record).coordinator_epoch}
    elif (found := control_value(record)) is not None:
        value = plain(found[0])
    return {"type": kind.name, "key": None, "value": value}


def control_value(record: Record) -> tuple[Message, int] | None:
    """What a control record of KRaft says, and the version it is in; None for other control records. Raises WireError."""
    kind = decode_control_key(record.key)
    if kind not in _CONTROL_VALUES or record.value is None:
        return None
    cls = record_class(*_CONTROL_VALUES[kind])
    version = int.from_bytes(record.value[:2], "big", signed=True)  # their first field says it
    version = min(max(version, cls.VERSIONS[0]), cls.VERSIONS[1])
    return cls.decode(record.value, 0, version)[0], version


def _coordinator(record: Record, catalogue: dict[int, tuple[str, str]]) -> dict[str, Any]:
    if record.key is None:
        raise WireError("a coordinator's record without a key")
    key = decode_coordinator_key(record.key, catalogue)
    value: Message | None = None
    if record.value is not None:
        value = decode_coordinator_value(key, record.value, catalogue)
    shown = None if value is None else plain(value)
    if isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        for member, fields in zip(value.members, (shown or {})["members"], strict=True):
            fields["subscription"] = _versioned(ConsumerProtocolSubscription, member.subscription)
            fields["assignment"] = _versioned(ConsumerProtocolAssignment, member.assignment)
    return {"type": type(key).__name__.removesuffix("Key"), "key": plain(key), "value": shown}


def _versioned(cls: type[Message], data: bytes) -> Any:
    """Return a consumer protocol message; the bytes if a client wrote a format of its own."""
    try:
        return plain(decode_versioned(cls, data))
    except WireError:
        return _plain_bytes(data)


def plain(message: WireStruct) -> dict[str, Any]:
    """Return a message's fields as JSON values. Bytes become text, or else base64; UUIDs become text in Kafka's form."""
    fields = {name: _plain_value(name, getattr(message, name)) for name in message.__slots__}
    if fields.get("unknown_tagged_fields") is None:
        fields.pop("unknown_tagged_fields", None)
    return fields


def _plain_value(name: str, value: Any) -> Any:
    if isinstance(value, WireStruct):
        return plain(value)
    if isinstance(value, list):
        return [_plain_value(name, item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain_value(name, item) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        is_uuid = len(data) == _UUID_SIZE and (name.endswith("id") or "dir" in name)
        return uuid_to_str(data) if is_uuid else _plain_bytes(data)
    return value


def _plain_bytes(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()
    return text if text.isprintable() else base64.b64encode(data).decode()
