"""Messages as plain objects for JSON, and back: fields by Kafka's names in snake_case, without those at their defaults.

Numbers are always kept. Bytes are ``{"base64": "..."}``; for record batches ``read`` has their decoded content, for
people and comparisons, or null where a batch holds too much.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from pykbroker.refusals.shapes import entity_class, fields, once
from pykbroker.wire.errors import TooMuchContent, WireError
from pykbroker.wire.message import WireStruct
from pykbroker.wire.records import BatchHeader, Record, TimestampType, decode_records, iter_batches

_BASE64: Final = "base64"
_READ: Final = "read"
#: What a batch may hold to be decoded.
_MOST_RECORDS: Final = 10_000
_MOST_BYTES: Final = 1024 * 1024
_TAGS: Final = "unknown_tagged_fields"


def plain(struct: WireStruct) -> dict[str, Any]:
    """Return a message or a struct as an object."""
    usual = _usual(type(struct))
    values = {name: getattr(struct, name) for name in struct.__slots__}
    return {
        name: _plain(name, value)
        for name, value in values.items()
        if isinstance(value, int) or value != getattr(usual, name)
    }


@once
def _usual(kind: type[WireStruct]) -> WireStruct:
    return kind()


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, WireStruct):
        return plain(value)
    if name == "records":
        data = _joined(value)
        return {_BASE64: _text(data), _READ: batches(data)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {_BASE64: _text(value)}
    if isinstance(value, dict):
        return {str(tag): {_BASE64: _text(each)} for tag, each in value.items()}
    if isinstance(value, list):
        return [_plain("", each) for each in value]
    return value


def _joined(records: Any) -> bytes:
    return b"".join(map(bytes, records)) if isinstance(records, list) else bytes(records)


def _text(data: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(data).decode()


def batches(data: bytes) -> list[dict[str, Any]]:
    """Return the complete batches in ``data``: the meaningful fields of their headers, and their records."""
    found = []
    try:
        for position, header in iter_batches(data):
            batch = data[position : position + header.size]
            found.append(
                {
                    "base_offset": header.base_offset,
                    "leader_epoch": header.partition_leader_epoch,
                    "producer_id": header.producer_id,
                    "producer_epoch": header.producer_epoch,
                    "base_sequence": header.base_sequence,
                    "transactional": header.is_transactional,
                    "control": header.is_control,
                    "records": _records(header, batch),
                }
            )
    except WireError:
        return found  # the last batch may be incomplete; a corrupt one is in the base64
    return found


def _records(header: BatchHeader, batch: bytes) -> list[dict[str, Any]] | None:
    """Return the records of a batch; None if it holds too much, since this is done while others wait."""
    if header.record_count > _MOST_RECORDS:
        return None
    try:
        return [_record(each, header) for each in decode_records(batch, header=header, max_bytes=_MOST_BYTES)]
    except TooMuchContent:
        return None


def _record(record: Record, header: BatchHeader) -> dict[str, Any]:
    """Return a record; a LogAppendTime timestamp has a field name of its own, since it is the broker's."""
    of_broker = header.is_control or header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return {
        "offset": record.offset,
        "log_append_time_ms" if of_broker else "timestamp": record.timestamp,
        "key": _readable(record.key),
        "value": _readable(record.value),
        "headers": [[name, _readable(value)] for name, value in record.headers],
    }


def _readable(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {_BASE64: _text(data)}


def struct(kind: type[WireStruct], found: dict[str, Any]) -> Any:
    """Return the message or struct of an object. Raises ValueError for an unknown field."""
    known = {field.name: field for field in fields(kind)}
    made = kind()
    for name, value in found.items():
        if name == _TAGS:
            setattr(made, name, {int(tag): _bytes(each) for tag, each in value.items()})
        elif name not in known:
            raise ValueError(f"{kind.__name__} has no field {name!r}; there are {', '.join(known)}")
        else:
            nested = entity_class(kind) if name == "entity" and isinstance(value, list) else known[name].struct
            setattr(made, name, _value(nested, value))
    return made


def _value(kind: type[WireStruct] | None, value: Any) -> Any:
    if isinstance(value, list):
        return [_value(kind, each) for each in value]
    if kind is not None and value is not None:
        return struct(kind, value)
    return _bytes(value) if isinstance(value, dict) else value


def _bytes(value: Any) -> bytes:
    if not (isinstance(value, dict) and isinstance(value.get(_BASE64), str)):
        raise ValueError(f'{value!r} is no bytes; write {{"base64": "..."}}')  # noqa: TRY004 - an error in a file
    return base64.b64decode(value[_BASE64], validate=True)
