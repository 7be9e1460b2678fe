from __future__ import annotations

import pytest

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.types import (
    Type,
    array,
    ddl,
    ddl_of,
    grown,
    mapping,
    merged,
    of_spark,
    paths_of,
    revised,
    struct,
    width,
    without,
)


def anything(name: str, _beside: object) -> bool:
    return name != "refused"


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (None, "BIGINT", "BIGINT"),
        ("BIGINT", None, "BIGINT"),
        ("BIGINT", "DOUBLE", "DOUBLE"),
        ("BIGINT", "STRING", "JSON"),
        ("JSON", "BIGINT", "JSON"),
        (array("BIGINT"), array("DOUBLE"), array("DOUBLE")),
        (array("BIGINT"), "BIGINT", "JSON"),
        (mapping("BIGINT"), mapping("STRING"), mapping("JSON")),
        (struct({"a": "BIGINT"}), struct({"b": "STRING"}), struct({"a": "BIGINT", "b": "STRING"})),
        (struct({"a": "BIGINT"}), array("BIGINT"), "JSON"),
    ],
)
def test_two_types_become_the_narrowest_that_takes_both(one: Type | None, other: Type | None, both: Type) -> None:
    assert merged(one, other) == both
    assert merged(other, one) == both


def test_columns_grow_and_never_change() -> None:
    fixed = {"a": "BIGINT", "s": struct({"x": "STRING"}), "l": array(struct({"p": "DOUBLE"})), "m": mapping("STRING")}
    found = {
        "b": "STRING", "a": "STRING", "refused": "BIGINT", "s": struct({"y": "BIGINT", "refused": "STRING"}),
        "l": array(struct({"q": "STRING"})), "m": "BIGINT", "n": struct({"refused": "BIGINT"}),
        "o": array(struct({"refused": "BIGINT", "r": "STRING"})),
    }  # fmt: skip
    assert grown(fixed, found, anything) == {
        "a": "BIGINT", "s": struct({"x": "STRING", "y": "BIGINT"}), "l": array(struct({"p": "DOUBLE", "q": "STRING"})),
        "m": mapping("STRING"), "b": "STRING", "o": array(struct({"r": "STRING"})),
    }  # fmt: skip


def test_types_as_sql_writes_them() -> None:
    columns = {"a`b": "JSON", "s": struct({"l": array("DECIMAL(4,1)")}), "m": mapping("TIMESTAMP")}
    assert ddl_of(columns) == "`a``b` STRING, `s` STRUCT<`l`: ARRAY<DECIMAL(4,1)>>, `m` MAP<STRING, TIMESTAMP>"
    assert ddl(struct({})) == "STRUCT<>"
    assert width(columns) == 3


def test_columns_that_a_person_gave() -> None:
    element = {"type": "array", "elementType": "long", "containsNull": True}
    given = {"type": "struct", "fields": [{"name": "l", "type": element}, {"name": "d", "type": "decimal(5,2)"}]}
    assert of_spark(given, "") == struct({"l": array("BIGINT"), "d": "DECIMAL(5,2)"})
    assert of_spark({"type": "map", "keyType": "string", "valueType": "float"}, "") == mapping("DOUBLE")
    with pytest.raises(LakeError, match=r"^a\.b is of type interval"):
        of_spark({"type": "struct", "fields": [{"name": "b", "type": "interval"}]}, ".a")


def test_types_that_are_given_otherwise_are_found_and_new_fields_are_none() -> None:
    fixed = {"a": "JSON", "b": "BIGINT", "s": struct({"x": "STRING", "y": "BIGINT"})}
    assert revised(fixed, {"a": "BIGINT", "b": "BIGINT", "new": "DATE"}) == ["a"]
    assert revised(fixed, {"s": struct({"x": "STRING"})}) == []
    assert revised(fixed, {"s": struct({"x": "DATE"})}) == ["s"]


def test_columns_are_left_out_by_their_path() -> None:
    columns = {"a": "BIGINT", "s": struct({"x": "STRING", "in": struct({"y": "BIGINT"})}), "l": array("STRING")}
    assert list(paths_of(columns)) == [("a",), ("s", "x"), ("s", "in", "y"), ("l",)]
    assert without(columns, []) == columns
    assert without(columns, [("a",), ("s", "in", "y")]) == {"s": struct({"x": "STRING"}), "l": array("STRING")}
    assert without(columns, list(paths_of(columns))) == {}
