"""Cases of "Protobuf compatibility rules" of Confluent's documentation
(https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/serdes-protobuf.html).
"""

from __future__ import annotations

import base64
import tracemalloc

import pytest

pytest.importorskip("grpc_tools")

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from pykbroker.lake.values import protoc
from pykbroker.registry.formats.parsed import Malformed
from pykbroker.registry.formats.protobuf import Protobuf, parse
from pykbroker.registry.formats.protobuf_text import text_of


def proto(body: str, package: str = "x") -> str:
    return f'syntax = "proto3";\npackage {package};\n{body}\n'


MESSAGE = "message M { int32 a = 1; string s = 2; oneof o { string t = 3; int64 u = 4; } N n = 5; map<string, int32> m = 6; message N { bool b = 1; } enum E { Z = 0; } E e = 7; repeated int32 r = 8; }"


@pytest.fixture(scope="module")
def original() -> Protobuf:
    return parse(proto(MESSAGE), {})


#: Each change, and what it breaks. protoc takes a fifth of a second each, so they are of one file.
CHANGES = {
    ("int32 a = 1", "int64 a = 1"): [],
    ("int32 a = 1", "E a = 1"): [],
    ("int32 a = 1", "bytes a = 1"): [("FIELD_SCALAR_KIND_CHANGED", "#/M/1")],
    ("string s = 2", "bytes renamed = 2"): [],
    ("string s = 2;", "string s = 2; double d = 9;"): [],
    ("string s = 2;", ""): [],
    (" int64 u = 4;", ""): [("ONEOF_FIELD_REMOVED", "#/M/4")],
    ("int64 u = 4;", "int64 u = 4; int32 v = 9;"): [],
    ("bool b = 1", "string b = 1"): [("FIELD_SCALAR_KIND_CHANGED", "#/M/5/N/1")],
    ("map<string, int32>", "map<string, string>"): [("FIELD_SCALAR_KIND_CHANGED", "#/M/6")],
    ("N n = 5", "int32 n = 5"): [("FIELD_KIND_CHANGED", "#/M/5")],
    ("repeated int32 r", "int32 r"): [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/8")],
    ("message M", "message Q {} message M"): [],
    ("package x", "package y"): [("PACKAGE_CHANGED", "#/")],
}


@pytest.mark.parametrize(("change", "found"), CHANGES.items(), ids=[" to ".join(change) for change in CHANGES])
def test_rules(original: Protobuf, change: tuple[str, str], found: list[tuple[str, str]]) -> None:
    assert change[0] in proto(MESSAGE)
    update = parse(proto(MESSAGE).replace(*change, 1), {})
    assert [each[:2] for each in update.cannot_read(original)] == found
    assert update.cannot_read(update) == []


def test_fields_that_move_into_a_oneof(original: Protobuf) -> None:
    moved = parse(proto(MESSAGE.replace("int32 a = 1; string s = 2;", "oneof p { int32 a = 1; string s = 2; }")), {})
    assert [each.rule for each in moved.cannot_read(original)] == ["MULTIPLE_FIELDS_MOVED_TO_ONEOF"]
    joined = parse(proto(MESSAGE.replace("int32 a = 1;", "").replace("oneof o {", "oneof o { int32 a = 1;")), {})
    assert [each.rule for each in joined.cannot_read(original)] == ["FIELD_MOVED_TO_EXISTING_ONEOF"]


def test_a_message_that_is_removed(original: Protobuf) -> None:
    other = parse(proto("message Other { int32 a = 1; }"), {})
    assert [each[:2] for each in other.cannot_read(original)] == [("MESSAGE_REMOVED", "#/M")]


def test_imports_are_references() -> None:
    references = {"point.proto": proto("message Point { int32 x = 1; }", "p")}
    found = parse(
        'syntax = "proto3";\nimport "point.proto";\nimport "google/protobuf/timestamp.proto";\nmessage M { p.Point at = 1; google.protobuf.Timestamp t = 2; }',
        references,
    )
    changed = parse(found.text, {"point.proto": proto("message Point { string x = 1; }", "p")})
    assert [each.rule for each in changed.cannot_read(found)] == ["FIELD_SCALAR_KIND_CHANGED"]
    with pytest.raises(Malformed, match=r"point\.proto"):
        parse(found.text, {})


def test_a_descriptor_is_written_as_text(original: Protobuf) -> None:
    descriptor = original.serialized
    found = parse(descriptor, {})
    assert found.text.startswith('syntax = "proto3";\npackage x;\n')
    assert found.cannot_read(original) == original.cannot_read(found) == []
    assert parse(found.text, {}, normalize=True).text == parse(proto(MESSAGE), {}, normalize=True).text == found.text


def test_what_is_not_written_is_refused() -> None:
    file = FileDescriptorProto(name="a.proto", syntax="editions")
    with pytest.raises(Malformed, match="register the text"):
        parse(base64.b64encode(file.SerializeToString()).decode(), {})
    grouped = FileDescriptorProto(name="a.proto", syntax="proto2")
    grouped.message_type.add(name="M").field.add(
        name="g", number=1, type="TYPE_GROUP", label="LABEL_OPTIONAL", type_name=".M.G"
    )
    with pytest.raises(Malformed, match="groups"):
        text_of(grouped)


def test_extensions_are_written_and_custom_options_left_out() -> None:
    text = """syntax = "proto2";
import "google/protobuf/descriptor.proto";
extend google.protobuf.FieldOptions { optional string about = 50001; }
message M { optional int32 a = 1 [(about) = "x", default = 3]; extensions 100 to 199, 1000 to max; extend M { repeated int32 b = 100; } }
"""
    original = parse(text, {})
    found = parse(original.serialized, {})
    assert "extend .google.protobuf.FieldOptions {\n  optional string about = 50001;\n}" in found.text
    assert "extensions 1000 to max;" in found.text
    assert "optional int32 a = 1 [default = 3];" in found.text
    assert found.cannot_read(original) == original.cannot_read(found) == []
    assert parse(found.text, {}, normalize=True).text == found.text


@pytest.mark.parametrize("name", ["../../../../tmp/escaped.proto", "/etc/x.proto"])
def test_a_reference_names_no_file_elsewhere(name: str) -> None:
    with pytest.raises(Malformed, match="no path to a file"):
        parse(proto("message M {}"), {name: proto("message N {}")})


def test_messages_within_each_other_end(original: Protobuf) -> None:
    loop = parse(proto("message M { M m = 1; N n = 2; } message N { M m = 1; }"), {})
    assert loop.cannot_read(loop) == []


def test_of_what_protoc_says_little_is_read() -> None:
    """It says a line about each word that it does not understand."""
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="protoc refused"):
            parse("x;" * 30_000, {})
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_protoc_has_so_much_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at each reserved number with each before it."""
    monkeypatch.setattr(protoc, "_LONGEST_CPU_S", 1)
    numbers = ",".join(map(str, range(1, 100_000)))
    with pytest.raises(Malformed, match="takes more than 1 seconds"):
        parse(f"message A{{reserved {numbers};}}", {})
