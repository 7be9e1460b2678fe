"""Cases of "JSON Schema compatibility rules" of Confluent's documentation
(https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/serdes-json.html).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.registry.formats.json_schema import parse
from pykbroker.registry.formats.parsed import DEEPEST, Malformed
from pykbroker.tests.kit.depth import examples

INT, TEXT = {"type": "integer"}, {"type": "string"}
CLOSED = {"additionalProperties": False}
OF_TEXT = {"additionalProperties": TEXT}


def thing(properties: Any, *required: str, **more: Any) -> Any:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {}), **more}


def rules(original: Any, update: Any, references: dict[str, str] | None = None) -> list[tuple[str, str]]:
    one, other = parse(json.dumps(original), references or {}), parse(json.dumps(update), references or {})
    return [each[:2] for each in other.cannot_read(one)]


@pytest.mark.parametrize(
    ("original", "update", "found"),
    [
        # open, closed and partially open content models
        (thing({"a": INT}), thing({}), []),
        (thing({"a": INT}), thing({"a": INT, "b": TEXT}), [("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "#/properties/b")]),
        (thing({"a": INT}), thing({"a": INT, "b": {}}), []),
        (thing({"a": INT}, **CLOSED), thing({"a": INT, "b": TEXT}, **CLOSED), []),
        (thing({"a": INT}, **CLOSED), thing({}, **CLOSED), [("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/properties/a")]),
        (thing({"a": INT}, **CLOSED), thing({"a": INT, "b": TEXT}, "b", **CLOSED), [("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", "#/properties/b")]),
        (thing({"a": INT}, **CLOSED), thing({"a": INT, "b": {**TEXT, "default": ""}}, "b", **CLOSED), []),
        (thing({}, **OF_TEXT), thing({"a": TEXT}, **OF_TEXT), []),
        (thing({}, **OF_TEXT), thing({"a": INT}, **OF_TEXT), [("TYPE_CHANGED", "#/properties/a"), ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/a")]),
        (thing({"a": TEXT}, **OF_TEXT), thing({}, **OF_TEXT), []),
        (thing({}, patternProperties={"^s_": TEXT}, **CLOSED), thing({"s_a": TEXT}, **CLOSED), []),
        (thing({"a": INT}), thing({"a": INT}, **CLOSED), [("ADDITIONAL_PROPERTIES_REMOVED", "#/additionalProperties")]),
        (thing({"a": INT}), thing({"a": INT}, **OF_TEXT), [("ADDITIONAL_PROPERTIES_NARROWED", "#/additionalProperties")]),
        # required
        (thing({"a": INT}), thing({"a": INT}, "a"), [("REQUIRED_ATTRIBUTE_ADDED", "#/required/a")]),
        (thing({"a": INT}, "a"), thing({"a": INT}), []),
        (thing({"a": INT}), thing({"a": {**INT, "default": 0}}, "a"), []),
        # types
        (INT, {"type": "number"}, []),
        ({"type": "number"}, INT, [("TYPE_NARROWED", "#")]),
        (INT, TEXT, [("TYPE_CHANGED", "#")]),
        (INT, {"type": ["integer", "null"]}, []),
        ({"type": ["integer", "null"]}, INT, [("TYPE_CHANGED", "#")]),
        (INT, True, []),
        (INT, {}, []),
        (False, INT, []),
        ({}, INT, [("TYPE_CHANGED", "#")]),
        # limits
        ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 6}, []),
        ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 4}, [("MAX_LENGTH_DECREASED", "#/maxLength")]),
        (TEXT, {**TEXT, "minLength": 1}, [("MIN_LENGTH_ADDED", "#/minLength")]),
        ({**TEXT, "minLength": 1}, {**TEXT, "minLength": 2}, [("MIN_LENGTH_INCREASED", "#/minLength")]),
        ({**TEXT, "pattern": "a"}, {**TEXT, "pattern": "b"}, [("PATTERN_CHANGED", "#/pattern")]),
        ({**TEXT, "pattern": "a"}, TEXT, []),
        ({**INT, "maximum": 5}, {**INT, "maximum": 4}, [("MAXIMUM_DECREASED", "#/maximum")]),
        ({**INT, "exclusiveMinimum": 5}, {**INT, "exclusiveMinimum": 6}, [("EXCLUSIVE_MINIMUM_INCREASED", "#/exclusiveMinimum")]),
        ({**INT, "multipleOf": 10}, {**INT, "multipleOf": 5}, []),
        ({**INT, "multipleOf": 5}, {**INT, "multipleOf": 10}, [("MULTIPLE_OF_EXPANDED", "#/multipleOf")]),
        ({**INT, "multipleOf": 5}, {**INT, "multipleOf": 7}, [("MULTIPLE_OF_CHANGED", "#/multipleOf")]),
        (thing({}, maxProperties=5), thing({}, maxProperties=4), [("MAX_PROPERTIES_DECREASED", "#/maxProperties")]),
        # enumerations
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, []),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, [("ENUM_ARRAY_NARROWED", "#/enum")]),
        ({"enum": ["a", 1]}, {"enum": ["a", True]}, [("ENUM_ARRAY_CHANGED", "#/enum")]),
        # combined schemas
        ({"oneOf": [INT]}, {"oneOf": [INT, TEXT]}, []),
        ({"oneOf": [INT, TEXT]}, {"oneOf": [INT]}, [("SUM_TYPE_NARROWED", "#")]),
        ({"allOf": [INT, {"maximum": 5}]}, {"allOf": [INT]}, []),
        ({"allOf": [INT]}, {"allOf": [INT, {"maximum": 5}]}, [("PRODUCT_TYPE_EXTENDED", "#")]),
        ({"oneOf": [INT, TEXT]}, {"anyOf": [TEXT, INT]}, []),
        ({"anyOf": [INT, TEXT]}, {"oneOf": [INT, TEXT]}, [("COMBINED_TYPE_CHANGED", "#")]),
        ({"oneOf": [INT, TEXT]}, {"oneOf": [INT, {"type": "boolean"}]}, [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#")]),
        ({"not": INT}, {"not": {**INT, "maximum": 1}}, []),
        ({"not": {**INT, "maximum": 1}}, {"not": INT}, [("NOT_TYPE_EXTENDED", "#/not")]),
        # arrays
        ({"type": "array", "items": INT}, {"type": "array", "items": TEXT}, [("TYPE_CHANGED", "#/items")]),
        ({"type": "array"}, {"type": "array", "uniqueItems": True}, [("UNIQUE_ITEMS_ADDED", "#/uniqueItems")]),
        ({"type": "array", "items": [INT]}, {"type": "array", "items": [INT, TEXT]}, [("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "#/items/1")]),
        ({"type": "array", "items": [INT, TEXT]}, {"type": "array", "items": [INT]}, []),
        ({"type": "array", "items": [INT], "additionalItems": False}, {"type": "array", "items": [INT, TEXT], "additionalItems": False}, []),
        # dependencies
        (thing({}), thing({}, dependencies={"a": ["b"]}), [("DEPENDENCY_ARRAY_ADDED", "#/dependencies/a")]),
        (thing({}, dependencies={"a": ["b", "c"]}), thing({}, dependencies={"a": ["b"]}), []),
    ],
)  # fmt: skip
def test_rules(original: Any, update: Any, found: list[tuple[str, str]]) -> None:
    assert rules(original, update) == found
    assert rules(original, original) == []
    assert rules(update, update) == []


def test_references() -> None:
    tree = thing({"next": {"$ref": "#/definitions/t"}}, definitions={"t": thing({"next": {"$ref": "#/definitions/t"}})})
    narrower = thing(
        {"next": {"$ref": "#/definitions/t"}}, definitions={"t": thing({"next": {"$ref": "#/definitions/t"}}, "next")}
    )
    assert rules(tree, tree) == []
    assert rules(tree, narrower) == [("REQUIRED_ATTRIBUTE_ADDED", "#/properties/next/required/next")]
    other = {"point.json": json.dumps({"$id": "http://x/point.json", "definitions": {"p": INT}})}
    assert rules({"$ref": "point.json#/definitions/p"}, {"$ref": "http://x/point.json#/definitions/p"}, other) == []
    assert rules({"$ref": "point.json#/definitions/p"}, TEXT, other) == [("TYPE_CHANGED", "#")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        '"text"',
        '{"type":"nothing"}',
        '{"required":1}',
        '{"properties":[]}',
        '{"$ref":"#/definitions/missing"}',
        '{"$ref":"#/allOf/' + "9" * 5000 + '","allOf":[{}]}',
        '{"$ref":"http://other.example/schema.json"}',
        '{"$ref":"file:///etc/passwd"}',
        '{"items":' * (DEEPEST + 1) + "{}" + "}" * (DEEPEST + 1),
        '{"$schema":[]}',
        '{"$schema":{}}',
        '{"pattern":"a{99999999999999999999}"}',
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text, {})


def test_a_circle_of_references_is_refused_where_it_is_followed() -> None:
    circle = parse(
        '{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}', {}
    )
    with pytest.raises(Malformed, match="circle"):
        circle.cannot_read(circle)


@pytest.mark.deep
def test_alternatives_within_alternatives_end_at_the_budget() -> None:
    def nested(depth: int, leaf: str) -> Any:
        return (
            {"type": leaf}
            if not depth
            else {"oneOf": [{"allOf": [nested(depth - 1, f"{leaf}")], "title": str(n)} for n in range(4)]}
        )

    one, other = parse(json.dumps(nested(6, "string")), {}), parse(json.dumps(nested(6, "integer")), {})
    with pytest.raises(Malformed, match="too complex"):
        other.cannot_read(one)


def test_a_hostile_pattern_holds_nobody() -> None:
    hostile = thing({}, patternProperties={"(a+)+$": TEXT, "(?=x)": INT}, **CLOSED)
    assert rules(hostile, thing({"a" * 5000 + "b": TEXT}, **CLOSED)) == []


def test_a_pattern_that_takes_long_to_compile_matches_nothing() -> None:
    """RE2 lets nothing else run while it compiles: some of these takes a tenth of a second."""
    dear, cheap = "(?:.{0,100}){0,10}" * 20 + "a", "(?:.{0,10}){0,10}a"
    of_patterns = [thing({}, patternProperties={each: TEXT}, **CLOSED) for each in (dear, cheap)]
    found = [rules(each, thing({"a": INT}, **CLOSED)) for each in of_patterns]
    assert found == [[], [("TYPE_CHANGED", "#/properties/a"), ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/a")]]  # fmt: skip


@pytest.mark.parametrize("keyword", ["enum", "required"])
def test_values_that_cannot_be_sorted_are_not_compared_with_each_other_without_end(keyword: str) -> None:
    """Draft 4 wants them to be different."""
    draft = "http://json-schema.org/draft-04/schema#"
    mixed: list[Any] = [number if number % 2 else str(number) for number in range(3000)]
    for schema in ({keyword: mixed}, {"properties": {"a": {keyword: mixed}}}):
        with pytest.raises(Malformed, match=f"{keyword}: its values are of different kinds"):
            parse(json.dumps({"$schema": draft, **schema}), {})
    for alike in ([*range(50_000)], [*map(str, range(50_000))], mixed[:1000]):
        parse(json.dumps({"$schema": draft, "enum": alike}), {})


def test_numbers_that_no_float_is_as_large_as_are_refused_where_they_are_compared() -> None:
    with pytest.raises(Malformed, match="cannot be compared"):
        rules({"type": "number", "multipleOf": 10**400}, {"type": "number", "multipleOf": 0.5})


_NODES = st.recursive(
    st.booleans() | st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "null"])}),
    lambda inner: st.fixed_dictionaries({}, optional={
        "type": st.sampled_from(["object", "array", "string", ["string", "null"]]), "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        "additionalProperties": inner, "items": inner | st.lists(inner, min_size=1, max_size=2), "oneOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner, "enum": st.lists(st.sampled_from(["a", 1]), min_size=1, max_size=2, unique=True), "required": st.just(["a"]),
    }),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=examples(60))
@given(_NODES, _NODES)
def test_any_two_schemas_can_be_compared(one: Any, other: Any) -> None:
    assert rules(one, one) == []
    rules(one, other)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
@pytest.mark.parametrize("padding", [0, 100_000])
def test_what_only_python_takes_for_json_is_refused(number: str, padding: int) -> None:
    with pytest.raises(Malformed, match="it is no JSON"):
        parse(f'{{"minimum": {number}{" " * padding}}}', {})
