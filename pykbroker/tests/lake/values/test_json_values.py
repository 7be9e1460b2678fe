from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.lake.values.conversion import fields_fit
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.json_values import decode_json, found_columns, is_empty, merged_columns, widen
from pykbroker.lake.values.types import array, struct


def found(*objects: dict[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for each in objects:
        widen(columns, each)
    return found_columns(columns)


def test_types_are_found_in_values() -> None:
    rows = (
        {"n": 1, "d": 1, "s": "a", "b": True, "mixed": 1, "nothing": None, "empty": [], "big": 2**63},
        {"d": 0.5, "mixed": "x", "empty": [{}, [], None], "l": [None, 1, 2.5], "o": {"p": {"q": 1}, "r": None}},
    )
    assert found(*rows) == {
        "n": "BIGINT", "d": "DOUBLE", "s": "STRING", "b": "BOOLEAN", "mixed": "JSON", "big": "JSON",
        "l": array("DOUBLE"), "o": struct({"p": struct({"q": "BIGINT"})}),
    }  # fmt: skip
    assert merged_columns(found(rows[0]), found(rows[1])) == found(*rows)
    assert [is_empty(each) for each in ({}, [None, {}], None, {"a": 0}, "", [0])] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "no JSON: Expecting value"),
        (b"[1]", r"JSON and no object: \[1\]"),
        (b'{"a": NaN}', "no JSON: NaN is no number"),
        (b'{"a": 1e400}', "no JSON: 1e400 is larger than a double"),
        (b'{"a": 1} x', "no JSON: Extra data"),
        (b'{"a": "\xff"}', "no UTF-8: invalid start byte at byte 7"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "no JSON: Exceeds the limit"),
    ],
)
def test_what_is_no_object_is_refused(value: bytes, why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        decode_json(value)


def test_a_registrys_frame_is_left_out() -> None:
    assert decode_json(b'\0\0\0\0\7{"a": 1}') == {"a": 1}


#: What is empty says nothing of its type, so it may not fit what another value says.
JSON_VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3)
    ),
    max_leaves=10,
)


def refuse(name: str, value: Any, _beside: object) -> None:
    assert is_empty(value), f"{name} has no column"


@given(st.lists(st.dictionaries(st.text(max_size=3), JSON_VALUES | st.none(), max_size=4), max_size=4))
def test_every_object_fits_the_columns_that_were_found_in_all(objects: list[dict[str, Any]]) -> None:
    """But for whole numbers that are no double exactly, beside fractions."""
    columns = found(*objects)
    fit = fields_fit(columns, refuse)
    for each in objects:
        try:
            fitted = fit(decode_json(json.dumps(each).encode()))
        except ConversionError as error:
            assert str(error).endswith(("is no DOUBLE", "surrogate pair"))  # noqa: PT017 - others may not be
            continue
        assert fitted.keys() == {name for name in each if each[name] is not None}
