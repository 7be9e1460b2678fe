"""Avro and Protobuf, decoded in the page: values of every kind, and bytes that say what is not there."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from playwright.sync_api import expect

from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.console.registry import registry
from pykbroker.tests.http.http_client import with_http

_AVRO = {
    "type": "record",
    "name": "Flight",
    "namespace": "air",
    "fields": [
        {"name": "carrier", "type": "string"},
        {"name": "delay", "type": ["null", "int"]},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["DUE", "OFF"]}},
        {"name": "legs", "type": {"type": "array", "items": "long"}},
        {"name": "tags", "type": {"type": "map", "values": "boolean"}},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 2}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "ratio", "type": "double"},
        {"name": "next", "type": ["null", "Flight"]},
    ],
}
_PROTO = """
syntax = "proto3"; package air; // a comment
import "google/protobuf/any.proto";
message Flight {
  option deprecated = false;
  reserved 4, 5; reserved "gone";
  string carrier = 1; sint32 delay = 2; State state = 3 [deprecated = true];
  repeated int64 legs = 6; map<string, bool> tags = 7;
  oneof way { double ratio = 8; Leg leg = 9; }
  enum State { DUE = 0; OFF = 1; }
  message Leg { fixed32 from = 1; bytes raw = 2; repeated Leg more = 3; }
  uint64 large = 10;
}
service Flights { rpc Find (Flight) returns (Flight) {} }
"""


def zigzag(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 63))


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def text(value: str) -> bytes:
    return zigzag(len(value.encode())) + value.encode()


def flight(after: bytes = zigzag(0)) -> bytes:
    """A Flight in Avro."""
    return b"".join(
        [
            *(text("UA"), zigzag(1), zigzag(-5), zigzag(1)),
            *(zigzag(-2), zigzag(9), zigzag(2**60), zigzag(3), zigzag(0)),
            *(zigzag(1), text("late"), b"\x01", zigzag(0), b"\xab\xcd"),
            *(zigzag(2), (-12345).to_bytes(2, "big", signed=True), zigzag(20000), struct.pack("<d", 0.5), after),
        ]
    )


def framed(number: int, kind: int, payload: bytes) -> bytes:
    return varint(number << 3 | kind) + (varint(len(payload)) if kind == 2 else b"") + payload


_PROTO_BYTES = b"".join(
    [
        *(framed(1, 2, b"UA"), framed(2, 0, zigzag(-5)), framed(3, 0, varint(1)), framed(6, 2, varint(1) + varint(-2))),
        *(framed(6, 0, varint(3)), framed(7, 2, framed(1, 2, b"late") + framed(2, 0, varint(1)))),
        framed(9, 2, framed(1, 5, struct.pack("<I", 7)) + framed(2, 2, b"\xff") + framed(3, 2, framed(1, 5, bytes(4)))),
        *(framed(10, 0, varint(2**64 - 1)), framed(99, 2, b"??")),
    ]
)


@pytest.fixture(scope="module")
def page(browser, kafka):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://{kafka.http_address}/console/")
    yield page
    context.close()


def decoded(page, file: str, call: str, *given: Any) -> Any:
    """What JSON says of it; bytes are given as lists."""
    found = page.evaluate(
        f"""async ([bytes, ...given]) => {{
              const module = await import("/console/{file}.js");
              try {{
                const value = ({call})(module, new Uint8Array(bytes), ...given);
                return JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each));
              }} catch (error) {{
                return JSON.stringify(`refused: ${{error.message}}`);
              }}
            }}""",
        list(given),
    )
    return json.loads(found)


def avro(page, schema: Any, data: bytes) -> Any:
    return decoded(page, "avro", "(m, bytes, schema) => m.avro(schema)(bytes)", list(data), json.dumps(schema))


def protobuf(page, definitions: str, data: bytes, message: str = "") -> Any:
    call = "(m, bytes, text, message) => m.protobuf(text, message, bytes)"
    return decoded(page, "protobuf", call, list(data), definitions, message)


def test_avro(page):
    one = {
        "carrier": "UA",
        "delay": -5,
        "state": "OFF",
        "legs": [2**60, 3],
        "tags": {"late": True},
        "id": "abcd",
        "price": "-123.45",
        "day": "2024-10-04",
        "ratio": 0.5,
        "next": None,
    }
    one["legs"] = [str(2**60), 3]  # what JavaScript's numbers cannot hold stays exact
    assert avro(page, _AVRO, flight()) == one
    assert avro(page, _AVRO, flight(zigzag(1) + flight())) == {**one, "next": one}
    assert avro(page, "long", zigzag(-(2**63))) == str(-(2**63))
    assert avro(page, {"type": "map", "values": "string"}, zigzag(1) + text("__proto__") + text("x") + b"\x00") == {
        "__proto__": "x"
    }


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ("string", zigzag(2**40)),
        ("string", zigzag(-1)),
        ("string", zigzag(2) + b"\xff\xfe"),
        ("bytes", b""),
        ("long", b"\xff" * 11),
        ("int", b"\x02\x02"),
        (["null", "int"], zigzag(7)),
        ({"type": "array", "items": "null"}, zigzag(2**50)),
        ({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}, b""),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, zigzag(1)),
        ("nobody", b""),
        (None, b""),
        ("constructor", b""),
    ],
)
def test_avro_that_is_none(page, schema, data):
    assert str(avro(page, schema, data)).startswith("refused:")


def test_protobuf(page):
    assert protobuf(page, _PROTO, _PROTO_BYTES) == {
        "carrier": "UA",
        "delay": -5,
        "state": "OFF",
        "legs": [1, -2, 3],
        "tags": {"late": True},
        "leg": {"from": 7, "raw": "ff", "more": [{"from": 0}]},
        "large": str(2**64 - 1),
        "99": "3f3f",
    }
    assert protobuf(page, _PROTO, framed(1, 5, struct.pack("<I", 7)), "Flight.Leg") == {"from": 7}
    assert protobuf(page, _PROTO, framed(1, 2, b"x"), "air.Flight") == {"carrier": "x"}


@pytest.mark.parametrize(
    ("definitions", "data"),
    [
        (_PROTO, b"\x0a\xff\xff\xff\xff\x0f"),
        (_PROTO, b"\x0a"),
        (_PROTO, b"\x0b"),
        (_PROTO, framed(1, 2, b"\xff")),
        (_PROTO, b"\x80" * 20),
        ("message M { Nobody n = 1; }", framed(1, 2, b"")),
        ("message M {", b""),
        ("enum E { A = 0; }", b""),
        ("<script>", b""),
        ("message M { repeated M m = 1; }", framed(1, 2, b"")[:1] + b"\x7f"),
    ],
)
def test_protobuf_that_is_none(page, definitions, data):
    assert str(protobuf(page, definitions, data)).startswith("refused:")


def test_a_schema_is_pasted_and_decodes_what_a_registrys_client_wrote(opened, kafka):
    kafka.create_topic("avro")
    kafka.produce("avro", b"\x00\x00\x00\x00\x07" + flight())
    view = opened("topic?name=avro")
    view.click(".row")
    view.select_option("[aria-label='Value as']", "avro")
    view.fill("dialog textarea", json.dumps(_AVRO))
    view.select_option("dialog select", "confluent")
    view.click("dialog button[type=submit]")
    expect(view.locator("pre[aria-label=Value]")).to_contain_text('"carrier": "UA"')
    view.reload()
    view.click(".row")
    expect(view.locator("pre[aria-label=Value]")).to_contain_text('"price": "-123.45"')


_TWO_MESSAGES = 'syntax = "proto3"; message Other { int32 a = 1; } message Outer { message Inner { string b = 2; } }'


def test_values_by_the_ids_of_a_registry(opened):
    with registry() as schemas, with_http(HttpOptions("127.0.0.1", 0, schema_registry=schemas.url)) as http:
        schemas.schema(7, schema=json.dumps(_AVRO))
        schemas.schema(8, schema=_TWO_MESSAGES, schemaType="PROTOBUF")
        schemas.schema(9, schema='{"type": "object"}', schemaType="JSON")
        schemas.schema(10, schema='{"type": "<script>window.hacked = 1</script>"}')
        http.kafka.create_topic("by-id")
        nested = zigzag(2) + zigzag(1) + zigzag(0)  # the first message in the second
        values = [
            (b"\x00\x00\x00\x00\x07" + flight(), '"carrier": "UA"'),
            (b"\x00\x00\x00\x00\x08" + nested + framed(2, 2, b"inside"), '"b": "inside"'),
            (b"\x00\x00\x00\x00\x08" + zigzag(0) + framed(1, 0, varint(5)), '"a": 5'),
            (b'\x00\x00\x00\x00\x09{"n": 12345678901234567890}', '"n": 12345678901234567890'),
            (b"\x00\x00\x00\x00\x07\xff", "By its schema it cannot be decoded"),
            (b"\x00\x00\x00\x00\x0aevil", "By its schema it cannot be decoded"),
            (b"\x00\x00\x00\x00\x63?", "no schema 99"),
            (b"\x00\xff\xff\xff\xff?", "-1 is no id"),
            (b"plain", "plain"),
        ]
        for value, _ in values:
            http.kafka.produce("by-id", value)
        view = opened(
            "topic?name=by-id&order=oldest", at=f"127.0.0.1:{http.port}", complaints=("404", "ERR_CONNECTION_REFUSED")
        )
        for number, (_, shown) in enumerate(values):
            view.click(f".row >> nth={number}")
            expect(view.locator("pre[aria-label=Value]")).to_contain_text(shown)
        view.select_option("[aria-label='Value as']", "hex")
        assert view.evaluate("window.hacked === undefined")
    assert schemas.asked == [f"/schemas/ids/{number}" for number in (7, 8, 9, 10, 99)]


_MANY_VALUES: list[dict[str, Any]] = [{"type": "record", "name": "R0", "fields": [{"name": "x", "type": "null"}]}]
for _number in range(1, 25):
    _fields = [{"name": "a", "type": _MANY_VALUES[-1]}, {"name": "b", "type": f"R{_number - 1}"}]
    _MANY_VALUES.append({"type": "record", "name": f"R{_number}", "fields": _fields})


def test_a_schema_that_asks_for_more_values_than_there_are_bytes(page):
    assert avro(page, _MANY_VALUES[-1], b"") == "refused: it has too many values to be shown."


_LONG = "x" * 2000
_NESTED: Any = "null"
for _ in range(200):
    _NESTED = {"type": "array", "items": _NESTED}


@pytest.mark.parametrize(
    ("schema", "data", "said"),
    [
        (".".join(["a"] * 150_000), b"", "a name has more than"),
        ({"type": "record", "name": _LONG, "fields": []}, b"", "a name has more than"),
        ({"type": "record", "name": "R", "namespace": _LONG, "fields": []}, b"", "a name has more than"),
        ({"type": "record", "name": "R", "fields": [{"name": _LONG, "type": "null"}]}, b"", "a name has more than"),
        ({"type": "enum", "name": "E", "symbols": [_LONG]}, b"\0", "a name has more than"),
        ({"type": "fixed", "name": "F", "size": 0.5}, b"\0", "bytes are left"),
        ({"type": "fixed", "name": "F", "size": "many"}, b"\0", "too early"),
        (_NESTED, b"\0", "nested too deeply"),
        ({"type": "record", "name": "R", "doc": "x" * 2**20, "fields": []}, b"", "the schema has more than"),
        (
            {
                "type": "array",
                "items": {"type": "record", "name": "R", "fields": [{"name": "x" * 1000, "type": "null"}]},
            },
            zigzag(50_000) + zigzag(0),
            "too many values",
        ),
    ],
    ids=["parts", "record", "space", "field", "symbol", "fraction", "size", "nesting", "length", "repeated name"],
)
def test_a_schema_of_avro_that_takes_the_tab(page, schema, data, said):
    assert said in avro(page, schema, data)


@pytest.mark.parametrize("scale", [10**9, -1, 0.5, "9" * 1000, 2**53], ids=str)
def test_a_scale_that_is_none_leaves_the_bytes(page, scale):
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": scale}
    assert avro(page, schema, zigzag(2) + b"\xcf\xc7") == "cfc7"


def test_a_decimal_of_a_megabyte_stays_bytes(page):
    call = "(m, _, schema) => m.avro(JSON.stringify(schema))(new Uint8Array(1000003).fill(255).map((each, at) => [128, 137, 122][at] ?? each))"
    found = decoded(page, "avro", call, [], {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})
    assert found == "ff" * 1_000_000


@pytest.mark.parametrize(
    ("definitions", "said"),
    [
        (f"message M {{ {'.'.join(['a'] * 150_000)} f = 1; }}", "a name has more than"),
        ("message M { " + "message M { " * 10_000, "a name has more than"),
        ("message M { " + "oneof o { " * 10_000, "nested too deeply"),
        (f"message {_LONG} {{ }}", "a name has more than"),
        (f"message M {{ int32 {_LONG} = 1; }}", "a name has more than"),
        (f"message M {{ enum E {{ {_LONG} = 0; }} }}", "a name has more than"),
        ("message M { repeated int32 " + "x" * 1000 + " = 1; }", "too many values"),
        ("message M { } //" + "x" * 2**20, "the schema has more than"),
    ],
    ids=["parts", "nesting", "oneofs", "message", "field", "symbol", "repeated name", "length"],
)
def test_definitions_of_protobuf_that_take_the_tab(page, definitions, said):
    assert said in protobuf(page, definitions, framed(1, 0, b"\1") * 5000)


@pytest.mark.parametrize(
    "definitions",
    [
        "message M { " + "optional int32 a = 1; " * 100_000 + "}",
        "message M { repeated M m = 1; } " + "/* " * 300_000,
        "message M { } " + '"\\' * 300_000,
        "message M { repeated M m = 1; }",
        "message M { }",
        "message M { map<int32, int32> m = 1; }",
    ],
    ids=["fields", "comments", "strings", "repeated", "unknown", "map"],
)
def test_what_is_large_takes_no_longer_than_it_is_long(page, definitions):
    """Each of these took minutes, in which the tab hung, when every part was gone through again for the next one."""
    entry = b"\x0a\x05\x08\x81\x01\x10\1" if "map" in definitions else b"\x0a\0"
    call = "(m, bytes, text) => m.protobuf(text, '', new Uint8Array(210000).map((_, at) => bytes[at % bytes.length])) && true"
    found = decoded(page, "protobuf", call, list(entry), definitions)
    assert found is True or str(found).startswith("refused:")
