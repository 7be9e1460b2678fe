"""Skipped where protobuf and its compiler are not installed: they are there for who decodes Protobuf."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.protobuf")
pytest.importorskip("grpc_tools")

from google.protobuf.message_factory import GetMessageClass

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.protobuf_values import ProtobufSchema, columns_of, decoder_of
from pykbroker.lake.values.protoc import compiled, compiled_texts
from pykbroker.lake.values.types import array, mapping, struct

SCHEMA = """
syntax = "proto3";
package demo;
import "google/protobuf/timestamp.proto";
import "legs/leg.proto";
message Nothing {}
message Flight {
  int32 n = 1;
  uint64 big = 2;
  optional float f = 3;
  bytes raw = 4;
  enum Kind { A = 0; B = 1; }
  Kind kind = 5;
  repeated legs.Leg legs = 6;
  legs.Leg last = 7;
  map<int32, string> tags = 8;
  google.protobuf.Timestamp at = 9;
  oneof either { string text = 10; bool ok = 11; }
  Nothing nothing = 12;
  message Inner { string a = 1; }
}
message Tree { Tree left = 1; }
"""
LEG = 'syntax = "proto3"; package legs; message Leg { string to = 1; }'


@pytest.fixture(scope="module")
def schema() -> ProtobufSchema:
    return ProtobufSchema(compiled_texts(SCHEMA, {"legs/leg.proto": LEG}))


def flight(schema: ProtobufSchema, **fields: Any) -> bytes:
    return GetMessageClass(schema.named("demo.Flight"))(**fields).SerializeToString()


def test_a_message_becomes_columns(schema: ProtobufSchema) -> None:
    leg = struct({"to": "STRING"})
    assert columns_of(schema.named("demo.Flight")) == {
        "n": "BIGINT", "big": "DECIMAL(20,0)", "f": "DOUBLE", "raw": "BINARY", "kind": "STRING", "legs": array(leg), "last": leg,
        "tags": mapping("STRING"), "at": "TIMESTAMP", "text": "STRING", "ok": "BOOLEAN",
    }  # fmt: skip
    at = datetime(2013, 1, 1, 12, tzinfo=UTC)
    value = flight(schema, n=1, big=2**64 - 1, f=0.5, legs=[{"to": "JFK"}], tags={1: "x"}, at=at, ok=False, kind="B")
    assert decoder_of(schema.named("demo.Flight"))(value) == {
        "n": 1, "big": Decimal(2**64 - 1), "f": 0.5, "raw": b"", "kind": "B", "legs": [{"to": "JFK"}], "tags": {"1": "x"},
        "at": at, "ok": False,
    }  # fmt: skip


def test_what_is_not_set_has_its_default_or_is_null(schema: ProtobufSchema) -> None:
    decode = decoder_of(schema.named("demo.Flight"))
    assert decode(b"") == {"n": 0, "big": 0, "raw": b"", "kind": "A", "legs": [], "tags": {}}
    assert decode(flight(schema, kind=7))["kind"] == "7"


def test_what_is_no_message_is_refused(schema: ProtobufSchema) -> None:
    decode = decoder_of(schema.named("demo.Flight"))
    with pytest.raises(ConversionError, match=r"the value is no demo\.Flight"):
        decode(b"\xff\xff")
    with pytest.raises(ConversionError, match="a time that no calendar knows"):
        decode(flight(schema, at={"seconds": 2**60}))


def test_messages_are_found_by_name_and_by_path(schema: ProtobufSchema) -> None:
    assert schema.at((1,)).full_name == "demo.Flight"
    assert schema.at((1, 0)).full_name in ("demo.Flight.Inner", "demo.Flight.TagsEntry")
    with pytest.raises(ConversionError, match=r"no message at the path 1\.9"):
        schema.at((1, 9))
    with pytest.raises(LakeError, match=r"no message 'Flight'; it has .*Flight.* Say its package"):
        schema.named("Flight")
    with pytest.raises(LakeError, match=r"demo\.Tree has itself in it"):
        columns_of(schema.named("demo.Tree"))


def test_schemas_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bad.proto").write_text("no schema")
    with pytest.raises(LakeError, match=r"protoc refused bad\.proto: .*"):
        compiled("bad.proto", tmp_path)
    with pytest.raises(LakeError, match="which is no path to a file"):
        compiled_texts(SCHEMA, {"../leg.proto": LEG})
    for data in (b"\xff\xff", b""):
        with pytest.raises(LakeError, match="compiled Protobuf schema"):
            ProtobufSchema(data)


def test_what_confluents_registry_brings_is_there() -> None:
    text = """syntax = "proto3";
import "confluent/meta.proto";
import "confluent/types/decimal.proto";
import "confluent/type/variant.proto";
message Paid {
  option (confluent.message_meta) = { doc: "who paid" };
  string card = 1 [(confluent.field_meta) = { tags: "PII" params: { key: "k" value: "v" } }];
  confluent.type.Decimal amount = 2;
  confluent.type.Variant rest = 3;
}"""
    found = ProtobufSchema(compiled_texts(text, {}))
    assert [each.name for each in found.named("Paid").fields] == ["card", "amount", "rest"]
    own = {"confluent/meta.proto": 'syntax = "proto3"; package confluent; message Own {}'}
    with pytest.raises(LakeError, match=r"confluent\.message_meta"):
        compiled_texts(text, own)


@pytest.mark.skipif(find_spec("google.type") is None, reason="googleapis-common-protos is not installed")
def test_the_common_types_of_google_are_brought_too() -> None:
    text = 'syntax = "proto3";\nimport "google/type/money.proto";\nmessage Paid { google.type.Money sum = 1; }'
    assert (
        ProtobufSchema(compiled_texts(text, {})).named("Paid").fields[0].message_type.full_name == "google.type.Money"
    )
    with pytest.raises(
        LakeError,
        match=r"^protoc refused pykbroker_value.proto: google/api/http.proto: File not found.\npykbroker_value",
    ):
        compiled_texts('syntax = "proto3";\nimport "google/api/http.proto";', {})


def test_modules_where_the_process_stands_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "resource.py").write_text("raise SystemExit('a stranger was run')")
    monkeypatch.chdir(tmp_path)
    assert compiled_texts(SCHEMA, {"legs/leg.proto": LEG})
