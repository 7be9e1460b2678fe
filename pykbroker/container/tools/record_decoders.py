"""The decoders of ``kafka-dump-log``: what a record of one of Kafka's own logs says, as its key and its payload are printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pykbroker.container.tools.record_json import as_json, text
from pykbroker.container.tools.running import ToolError
from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.catalogue import GROUP_RECORDS, METADATA_RECORDS, SHARE_RECORDS, TRANSACTION_RECORDS
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.coordinator import decode_coordinator_key, decode_coordinator_value, decode_versioned
from pykbroker.wire.internal.framing import UnknownRecordType
from pykbroker.wire.internal.group_metadata import GroupMetadataValue
from pykbroker.wire.internal.metadata import decode_metadata_record
from pykbroker.wire.internal.transaction_log import TransactionLogValue
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer, read_uvarint
from pykbroker.wire.records import Record

#: Key and payload, as far as there is something to print.
Decoder = Callable[[Record], tuple[str | None, str | None]]
_DELETED: Final = "<DELETE>"


def plain(record: Record) -> tuple[str | None, str | None]:
    """Text, whatever it is."""
    return _utf8(record.key), _utf8(record.value)


def cluster_metadata(record: Record) -> tuple[str | None, str | None]:
    """A record of ``__cluster_metadata``."""
    try:
        if record.value is None:
            raise WireError("a metadata record without a value")
        message = decode_metadata_record(record.value)
        _, at = read_uvarint(record.value, 0)
        number, at = read_uvarint(record.value, at)
        version, _ = read_uvarint(record.value, at)
    except WireError as error:
        return None, f"Error at {record.offset}, skipping. {error}"
    kind = METADATA_RECORDS[number][0].upper()
    return None, text({"type": kind, "version": version, "data": as_json(message, version)})


def _coordinator(catalogue: Mapping[int, tuple[str, str]]) -> Decoder:
    def decode(record: Record) -> tuple[str | None, str | None]:
        """Raises ToolError."""
        if record.key is None:
            raise ToolError(
                f"Failed to decode message at offset {record.offset} using the specified decoder "
                "(message had a missing key)"
            )
        try:
            key = decode_coordinator_key(record.key, catalogue)
            shown = text({"type": str(key.TYPE), "data": as_json(key, 0)})
            if record.value is None:
                return shown, _DELETED
            version = int.from_bytes(record.value[:2], "big", signed=True)
            data = _value_as_json(decode_coordinator_value(key, record.value, catalogue), version)
            return shown, text({"version": str(version), "data": data})
        except UnknownRecordType:
            kind = int.from_bytes(record.key[:2], "big", signed=True)
            return f"Unknown record type {kind} at offset {record.offset}, skipping.", None
        except WireError as error:
            return f"Error at offset {record.offset}, skipping. {error}", None

    return decode


def _value_as_json(message: Message, version: int) -> dict[str, Any]:
    """Of a group of consumers with what its members said and were told; of a transaction with the name of its state."""
    shown = as_json(message, version)
    if isinstance(message, TransactionLogValue):
        shown["transactionStatus"] = _state(message.transaction_status)
    if isinstance(message, GroupMetadataValue) and message.protocol_type == "consumer":
        for member, fields in zip(message.members, shown["members"], strict=True):
            for name, cls, content in (
                ("subscription", ConsumerProtocolSubscription, member.subscription),
                ("assignment", ConsumerProtocolAssignment, member.assignment),
            ):
                fields[name] = _versioned(cls, content) or fields[name]
    return shown


def _state(status: int) -> str:
    """The number, where nothing has it."""
    try:
        return TransactionState(status).title
    except ValueError:
        return str(status)


def _versioned(cls: type[Message], content: Buffer) -> dict[str, Any] | None:
    """None where a client wrote something of its own."""
    try:
        return as_json(decode_versioned(cls, content), int.from_bytes(content[:2], "big", signed=True))
    except WireError:
        return None


def _utf8(content: Buffer | None) -> str | None:
    return None if content is None else bytes(content).decode("utf-8", "replace")


#: By the option that asks for it.
DECODERS: Final[dict[str, Decoder]] = {
    "offsets-decoder": _coordinator(GROUP_RECORDS),
    "transaction-log-decoder": _coordinator(TRANSACTION_RECORDS),
    "cluster-metadata-decoder": cluster_metadata,
    "share-group-state-decoder": _coordinator(SHARE_RECORDS),
}
