"""Answers as plain values that two brokers can agree on.

What differs from run to run (addresses, generated ids, times, sizes of disks) becomes a placeholder; lists whose order Kafka
leaves open are sorted. Everything else stays, field by field.
"""

from __future__ import annotations

import re
import time
from typing import Any

from pykbroker.wire.errors import WireError
from pykbroker.wire.message import WireStruct
from pykbroker.wire.primitives import uuid_to_str
from pykbroker.wire.records import decode_records, read_batch_header

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_MILLISECONDS = re.compile(r"\b1[0-9]{12}\b")
_PLAIN_IDS = {bytes(range(16)), bytes(range(1, 17))}
"""Ids of no topic, which the cases ask for."""
_HEADER_BYTES = 61
_HOUR_MS = 3_600_000

#: Lists that keep their order, because it has a meaning.
_ORDERED = {"synonyms", "records", "record_errors", "replica_nodes", "isr_nodes", "answers"}
#: What names an element of a list, tried in this order; also its label in the path of a difference.
IDENTITY = (
    "name", "topic", "topic_id", "resource_name", "group_id", "key", "api_key", "member_id", "partition_index", "partition", "index",
    "node_id", "broker_id", "log_dir", "topic_name", "user", "mechanism", "entity_type", "transactional_id",
)  # fmt: skip
_RANDOM_NUMBERS = {
    "session_id": "<session>", "producer_id": "<producer id>", "total_bytes": "<bytes>", "usable_bytes": "<bytes>",
    "finalized_features_epoch": "<epoch>",
}  # fmt: skip
_RANDOM_TEXTS = {"log_dir": "<folder>", "documentation": "<text>", "host": "<host>"}


class Normaliser:
    """Turns the answers of one broker into plain values. ``port`` and ``topic_ids`` are that broker's own."""

    def __init__(self, port: int, topic_ids: dict[bytes, str]) -> None:
        self._port = port
        self._topic_ids = topic_ids

    def __call__(self, value: Any, field: str = "") -> Any:
        if isinstance(value, WireStruct):
            return self._struct(value)
        if isinstance(value, list):
            items = [self(item, field) for item in value]
            return items if field in _ORDERED else sorted(items, key=_sort_key)
        if field == "records" and value is not None:
            return batches(bytes(value))
        if isinstance(value, bytes) and len(value) == 16 and field.endswith("_id"):
            return self._topic_id(value)
        if isinstance(value, memoryview | bytes | bytearray):
            return bytes(value)
        return self._scalar(value, field)

    def _struct(self, value: WireStruct) -> dict[str, Any]:
        fields = {name: self(getattr(value, name), name) for name in value.__slots__}
        if not fields.get("unknown_tagged_fields"):
            fields.pop("unknown_tagged_fields", None)
        return fields

    def _topic_id(self, value: bytes) -> str:
        if value in _PLAIN_IDS:
            return uuid_to_str(value)
        return self._topic_ids.get(value, "<id>") if any(value) else "<none>"

    def _scalar(self, value: Any, field: str) -> Any:
        if isinstance(value, str):
            if field == "cluster_id" and _CLUSTER_ID.fullmatch(value):
                return "<cluster id>"
            if field in _RANDOM_TEXTS and value:
                return _RANDOM_TEXTS[field]
            value = _MILLISECONDS.sub(lambda found: str(recent(int(found[0]))), value)
            return _UUID.sub("<uuid>", value).replace(str(self._port), "<port>")
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        if field == "port" and value == self._port:
            return "<port>"
        if field in _RANDOM_NUMBERS and value > 0:
            return _RANDOM_NUMBERS[field]
        return recent(value)


def recent(value: int) -> int | str:
    """``<now>`` for a time in milliseconds within an hour of now."""
    return "<now>" if abs(value - time.time() * 1000) < _HOUR_MS else value


def batches(data: bytes) -> list[dict[str, Any]]:
    """Record batches as values: the header's fields, and the records with their bytes. An incomplete last one is named."""
    found: list[dict[str, Any]] = []
    position = 0
    while position < len(data):
        if (
            len(data) - position < _HEADER_BYTES
            or len(data) - position < (header := read_batch_header(data, position)).size
        ):
            found.append({"incomplete": True})
            break
        batch = data[position : position + header.size]
        found.append(
            {
                "base_offset": header.base_offset,
                "leader_epoch": header.partition_leader_epoch,
                "attributes": header.attributes,
                "last_offset_delta": header.last_offset_delta,
                "base_timestamp": recent(header.base_timestamp),
                "max_timestamp": recent(header.max_timestamp),
                "producer": "none" if header.producer_id < 0 else header.producer_epoch,
                "base_sequence": header.base_sequence,
                "records": _records(batch),
            }
        )
        position += header.size
    return found


def _records(batch: bytes) -> Any:
    try:
        return [(r.offset, recent(r.timestamp), r.key, r.value, list(r.headers)) for r in decode_records(batch)]
    except WireError:
        return batch[_HEADER_BYTES:]


def _sort_key(item: Any) -> str:
    if isinstance(item, dict):
        return repr([[item[name] for name in IDENTITY if name in item], item])
    return repr(item)
