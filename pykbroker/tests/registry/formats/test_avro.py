"""Cases of "Schema evolution and compatibility"
(https://docs.confluent.io/platform/current/schema-registry/fundamentals/schema-evolution.html) and of Avro's specification, "Schema
resolution" (https://avro.apache.org/docs/1.12.0/specification/#schema-resolution).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.registry.formats.avro import _Checker, parse
from pykbroker.registry.formats.parsed import DEEPEST, Malformed
from pykbroker.tests.kit.depth import examples


def record(*fields: Any, name: str = "R", **more: Any) -> Any:
    return {"type": "record", "name": name, "fields": [{"name": name, **each} for name, each in fields], **more}


def enum(*symbols: str, **more: Any) -> Any:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


INT, TEXT = {"type": "int"}, {"type": "string"}
OPTIONAL = {"type": ["null", "string"], "default": None}


@pytest.mark.parametrize(
    ("writer", "reader", "rules"),
    [
        (record(("a", INT)), record(("a", INT), ("b", OPTIONAL)), []),
        (record(("a", INT), ("b", TEXT)), record(("a", INT)), []),
        (record(("a", INT)), record(("a", INT), ("b", TEXT)), [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1")]),
        (
            record(("a", INT)),
            record(("x", TEXT), ("a", TEXT), ("b", TEXT)),
            [
                ("TYPE_MISMATCH", "/fields/1/type"),
                ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0"),
                ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/2"),
            ],
        ),
        (record(("a", INT)), record(("b", {**INT, "aliases": ["a"]})), []),
        (record(("a", INT), name="x.R"), record(("a", INT), name="y.R"), []),
        (record(("a", INT), name="S"), record(("a", INT)), [("NAME_MISMATCH", "/name")]),
        ("int", "long", []),
        ("long", "int", [("TYPE_MISMATCH", "/")]),
        ("string", "bytes", []),
        ("int", ["null", "int"], []),
        (["null", "int"], "int", [("TYPE_MISMATCH", "/")]),
        (["null", "int", "string"], ["null", "long"], [("MISSING_UNION_BRANCH", "/2")]),
        (enum("A", "B"), enum("A"), [("MISSING_ENUM_SYMBOLS", "/symbols")]),
        (enum("A", "B"), enum("A", default="A"), []),
        (
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "fixed", "name": "F", "size": 8},
            [("FIXED_SIZE_MISMATCH", "/size")],
        ),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "string"}, [("TYPE_MISMATCH", "/items")]),
        ({"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "nobody-knows"}, []),
        (record(("n", {"type": ["null", "R"]})), record(("n", {"type": ["null", "R"]}), ("a", OPTIONAL)), []),
    ],
)
def test_what_a_reader_cannot_read(writer: Any, reader: Any, rules: list[tuple[str, str]]) -> None:
    one, other = parse(json.dumps(writer), {}), parse(json.dumps(reader), {})
    assert [each[:2] for each in other.cannot_read(one)] == rules


def test_a_branch_that_another_one_makes_up_for_is_no_difference() -> None:
    writer = parse(json.dumps(record(("u", {"type": ["null", record(("a", INT), name="X")]}))), {})
    branches = ["null", record(("b", INT), name="Y"), record(("a", INT), name="X")]
    reader = parse(json.dumps(record(("u", {"type": branches}), ("c", TEXT))), {})
    assert [each[:2] for each in reader.cannot_read(writer)] == [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1")]


def test_types_of_references() -> None:
    references = {
        "a.Point": json.dumps(record(("x", INT), name="a.Point")),
        "a.Line": '{"type":"array","items":"a.Point"}',
    }
    found = parse(json.dumps(record(("p", {"type": "a.Point"}))), references)
    assert json.loads(found.text)["fields"][0]["type"] == "a.Point"
    with pytest.raises(Malformed):
        parse(json.dumps(record(("p", {"type": "a.Point"}))), {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "{}",
        "[]x",
        '{"type":"record","name":"R"}',
        '{"type":"record","name":"1","fields":[]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"b"}]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}',
        '{"type":"enum","name":"E","symbols":["A","A"]}',
        '["int","int"]',
        '{"type":["a"]}',
        "1",
        "null",
        "[" * 50_000,
        '{"type":"array","items":' * (DEEPEST + 1) + '"int"' + "}" * (DEEPEST + 1),
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text, {})


@pytest.mark.parametrize("levels", [25_000, 50_000])
def test_text_too_deep_for_pythons_parser_is_refused_in_the_words_of_the_bound(levels: int) -> None:
    """By the scanner in C, which from Python 3.14 on goes as deep as the stack has room, and by that for long texts."""
    with pytest.raises(Malformed, match=f"more than {DEEPEST} levels deep"):
        parse("[" * levels + "]" * levels, {})


@settings(max_examples=examples(50))
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["int", "record", "R"]),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "name", "fields", "items", "values", "symbols", "size", "default"]), inner, max_size=5)))  # fmt: skip
def test_any_json_is_a_schema_or_refused(node: Any) -> None:
    try:
        found = parse(json.dumps(node), {})
    except Malformed:
        return
    assert parse(found.text, {}).text == found.text
    assert found.cannot_read(found) == []


def test_records_with_more_fields_than_the_library_can_tell_apart_are_refused() -> None:
    """It looks for each name in a list of those before it."""
    fields = [{"name": f"f{number}", "type": "int"} for number in range(10_001)]
    record = {"type": "record", "name": "R", "fields": fields}
    for schema in (record, {"type": "array", "items": ["null", record]}):
        with pytest.raises(Malformed, match="more than 10000 fields"):
            parse(json.dumps(schema), {})
        with pytest.raises(Malformed, match="more than 10000 fields"):
            parse('"int"', {"r": json.dumps(schema)})


def test_records_with_too_many_fields_are_not_compared() -> None:
    fields = [{"name": f"f{number}", "type": "int"} for number in range(4600)]
    wide = parse(json.dumps({"type": "record", "name": "R", "fields": fields}), {})
    with pytest.raises(Malformed, match="too complex"):
        wide.cannot_read(wide)


def test_types_that_are_named_twice_are_compared_once() -> None:
    """Differences of a type would else double with each level: thirty levels would take all memory."""

    def doubled(kind: Any, levels: int = 12) -> Any:
        made = record(("x", kind), name=f"R{levels}")
        for each in reversed(range(levels)):
            made = record(("a", {"type": made}), ("b", {"type": f"R{each + 1}"}), name=f"R{each}")
        return parse(json.dumps(made), {})._schema

    result = _Checker().get_compatibility(doubled(TEXT), doubled(INT))
    assert [each.name for each in result.incompatibilities] == ["type_mismatch"]


def test_what_is_said_of_differences_is_bounded_together() -> None:
    symbols = {"type": {"type": "enum", "name": "E", "symbols": [f"S{each}" for each in range(10_000)]}}
    writer = record(("f0", symbols), *((f"f{each}", {"type": "E"}) for each in range(1, 300)))
    small = [
        (f"f{each}", {"type": {"type": "enum", "name": "E", "namespace": f"n{each}", "symbols": ["T"]}})
        for each in range(300)
    ]
    reader = parse(json.dumps(record(*small)), {})
    with pytest.raises(Malformed, match="too complex"):
        reader.cannot_read(parse(json.dumps(writer), {}))
