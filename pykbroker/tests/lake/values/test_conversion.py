from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from pykbroker.lake.values.conversion import fields_fit, fit_of
from pykbroker.lake.values.conversion_error import ConversionError, excerpt
from pykbroker.lake.values.types import Type, array, mapping, struct

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)


def unknown(name: str, value: Any, beside: Any) -> None:
    if value != "ignored":
        raise ConversionError(f"none of {', '.join(beside)}", f".{name}")


@pytest.mark.parametrize(
    ("form", "value", "fitted"),
    [
        ("BIGINT", -(2**63), -(2**63)),
        ("TINYINT", 127, 127),
        ("BOOLEAN", False, False),
        ("DOUBLE", 3, 3.0),
        ("STRING", "ä", "ä"),
        ("STRING", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("STRING", time(12, 30), "12:30:00"),
        ("BINARY", b"\xff", b"\xff"),
        ("BINARY", "AQI=", b"\1\2"),
        ("DATE", "2013-01-01", date(2013, 1, 1)),
        ("TIMESTAMP", "2013-01-01T13:00:00+01:00", NOON),
        ("TIMESTAMP", "2013-01-01T12:00:00", NOON),
        ("TIMESTAMP", NOON.astimezone(timezone(timedelta(hours=5))), NOON),
        ("TIMESTAMP_NTZ", "2013-01-01T12:00:00", NOON.replace(tzinfo=None)),
        ("DECIMAL(5,2)", 123, Decimal(123)),
        ("DECIMAL(5,2)", 1.25, Decimal("1.25")),
        ("DECIMAL(5,2)", "999.990", Decimal("999.99")),
        ("DECIMAL(38,0)", 10**38 - 1, Decimal(10**38 - 1)),
        ("JSON", {"a": [1, None, b"\1"]}, '{"a":[1,null,"AQ=="]}'),
        (array("BIGINT"), [1, None], [1, None]),
        (mapping("BIGINT"), {"a": 1, "b": None}, [("a", 1), ("b", None)]),
        (struct({"a": "BIGINT"}), {"a": 1, "b": None, "c": "ignored"}, {"a": 1}),
    ],
)
def test_what_fits_is_taken_as_it_is(form: Type, value: Any, fitted: Any) -> None:
    found = fit_of(form, unknown)(value)
    assert found == fitted
    assert type(found) is type(fitted)


@pytest.mark.parametrize(
    ("form", "value", "why"),
    [
        ("BIGINT", 2**63, "9223372036854775808 is no BIGINT"),
        ("TINYINT", 128, "128 is no TINYINT"),
        ("BIGINT", True, "True is no BIGINT"),
        ("BIGINT", 1.0, "1.0 is no BIGINT"),
        ("DOUBLE", 2**53 + 1, "9007199254740993 is no DOUBLE"),
        ("DOUBLE", True, "True is no DOUBLE"),
        ("BOOLEAN", 1, "1 is no BOOLEAN"),
        ("STRING", 1, "1 is no STRING"),
        ("STRING", "\ud800", "'\\ud800' has half of a surrogate pair"),
        ("BINARY", "not base64", "'not base64' is no BINARY in base64"),
        ("BINARY", 5, "5 is no BINARY in base64"),
        ("DATE", "2013-13-01", "'2013-13-01' is no DATE"),
        ("DATE", NOON, f"{excerpt(NOON)} is no DATE"),
        ("TIMESTAMP", 5, "5 is no TIMESTAMP"),
        ("TIMESTAMP", "0001-01-01T00:00:00+23:00", "'0001-01-01T00:00:00+23:00' is no TIMESTAMP"),
        ("TIMESTAMP_NTZ", "2013-01-01T12:00:00Z", "'2013-01-01T12:00:00Z' is no TIMESTAMP_NTZ"),
        ("DECIMAL(5,2)", 1000, "1000 is no DECIMAL(5,2)"),
        ("DECIMAL(5,2)", "0.001", "'0.001' is no DECIMAL(5,2)"),
        ("DECIMAL(5,2)", "NaN", "'NaN' is no DECIMAL(5,2)"),
        ("DECIMAL(5,2)", True, "True is no DECIMAL(5,2)"),
        ("DECIMAL(5,2)", "1" * 200, f"{'1' * 200!r}"[:60] + "... is no DECIMAL(5,2)"),
        ("JSON", {"a": "\ud800"}, '\'{"a":"\\ud800"}\' has half of a surrogate pair'),
        (array("BIGINT"), 1, "1 is no array"),
        (array("BIGINT"), [1, "x"], "[1]: 'x' is no BIGINT"),
        (array(struct({"a": "BIGINT"})), [{"a": 1}, {"a": "x"}], "[1].a: 'x' is no BIGINT"),
        (mapping("BIGINT"), {"k": "x"}, "['k']: 'x' is no BIGINT"),
        (mapping("BIGINT"), [], "[] is no map"),
        (struct({"a": "BIGINT"}), {"b": 1}, "b: none of a"),
        (struct({"a": struct({"b": "BIGINT"})}), {"a": 1}, "a: 1 is no object"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(form: Type, value: Any, why: str) -> None:
    with pytest.raises(ConversionError) as error:
        fit_of(form, unknown)(value)
    assert str(error.value) == why


def test_nulls_are_left_out() -> None:
    assert fields_fit({"a": "BIGINT"}, unknown)({"a": None, "no such": None}) == {}
