"""Skipped where fastavro is not installed: it is there for who decodes Avro."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("fastavro")

import fastavro

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.avro_values import AvroSchema
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.types import array, mapping, struct

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)


def record(*fields: tuple[str, Any], name: str = "a.Flight") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": each} for field, each in fields]}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


LEG = record(("to", "string"), name="Leg")
FLIGHT = record(
    ("n", "int"), ("big", "long"), ("f", "float"), ("ok", "boolean"), ("raw", "bytes"), ("gone", "null"),
    ("maybe", ["null", "string"]), ("either", ["long", "string", "null"]), ("legs", {"type": "array", "items": LEG}),
    ("last", ["null", "Leg"]), ("tags", {"type": "map", "values": "double"}), ("day", logical("int", "date")),
    ("at", logical("long", "timestamp-millis")), ("price", logical("bytes", "decimal", precision=6, scale=2)),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}), ("odd", logical("int", "unheard-of")),
)  # fmt: skip
VALUE = {
    "n": 1, "big": 2, "f": 0.5, "ok": True, "raw": b"\xff", "gone": None, "maybe": None, "either": "x", "legs": [{"to": "JFK"}],
    "last": {"to": "EWR"}, "tags": {"t": 1.5}, "day": date(2013, 1, 1), "at": NOON, "price": Decimal("12.50"), "kind": "B", "odd": 3,
}  # fmt: skip


def written(schema: Any, value: Any) -> bytes:
    data = BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), value)
    return data.getvalue()


def test_a_record_becomes_columns() -> None:
    schema = AvroSchema(json.dumps(FLIGHT))
    leg = struct({"to": "STRING"})
    assert schema.columns() == {
        "n": "BIGINT", "big": "BIGINT", "f": "DOUBLE", "ok": "BOOLEAN", "raw": "BINARY", "gone": "STRING", "maybe": "STRING",
        "either": "JSON", "legs": array(leg), "last": leg, "tags": mapping("DOUBLE"), "day": "DATE", "at": "TIMESTAMP",
        "price": "DECIMAL(6,2)", "kind": "STRING", "odd": "BIGINT",
    }  # fmt: skip
    assert schema.decoder()(written(FLIGHT, VALUE)) == VALUE


def test_what_is_not_of_the_schema_is_refused() -> None:
    decode = AvroSchema(json.dumps(FLIGHT)).decoder()
    value = written(FLIGHT, VALUE)
    with pytest.raises(ConversionError, match="2 bytes are left over"):
        decode(value + b"xx")
    for length in range(len(value)):
        with pytest.raises(ConversionError, match="Avro schema"):
            decode(value[:length])
    with pytest.raises(ConversionError, match="Avro schema"):
        decode(b"\xff" * 40)


def test_anything_but_a_record_is_one_column() -> None:
    assert AvroSchema('"long"').columns() == AvroSchema("long").columns() == {"value": "BIGINT"}
    assert AvroSchema('"long"').decoder()(b"\x04") == {"value": 2}


def test_a_schema_may_name_others() -> None:
    schema = AvroSchema(json.dumps(record(("last", "a.Leg"))), [json.dumps({**LEG, "name": "a.Leg"})])
    assert schema.columns() == {"last": struct({"to": "STRING"})}
    assert schema.decoder()(written(LEG, {"to": "JFK"})) == {"last": {"to": "JFK"}}


def test_what_cannot_be_columns_is_told() -> None:
    tree = record(("left", ["null", "Tree"]), name="Tree")
    with pytest.raises(LakeError, match="Tree has itself in it"):
        AvroSchema(json.dumps(tree)).columns()
    with pytest.raises(LakeError, match="Nothing has no fields"):
        AvroSchema(json.dumps(record(name="Nothing"))).columns()
    for text in ("{}", "no JSON", '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "Unknown"}]}'):
        with pytest.raises(LakeError, match="This is no Avro schema"):
            AvroSchema(text)


@pytest.mark.parametrize(
    "items",
    [
        "null",
        record(name="Empty"),
        record(
            ("a", "null"), ("b", record(("c", {"type": "fixed", "name": "None_", "size": 0}), name="In")), name="Out"
        ),
    ],
)
def test_an_array_whose_items_take_no_bytes_has_no_columns(items: Any) -> None:
    """Ten bytes could claim any number of them, and decoding would not end."""
    schema = AvroSchema(json.dumps(record(("all", {"type": "array", "items": items}))))
    with pytest.raises(LakeError, match="take no bytes"):
        schema.columns()
