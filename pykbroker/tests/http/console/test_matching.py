"""What is looked for in records."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.http.console.call import ConsoleCall
from pykbroker.http.console.matching import Matcher
from pykbroker.wire.records import Record

_RECORD = Record(5, 1000, b"Key-1", b"a \xff\x00 value (.*)", (("Trace", b"abc"), ("none", None)))


def matcher(**said: Any) -> Matcher:
    return Matcher.of(ConsoleCall(said, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"text": "Key"},
        {"text": "value"},
        {"text": "Trace"},
        {"text": "abc"},
        {"text": "hex:ff00"},
        {"text": "hex:ff 00"},
        {"text": "(.*)"},
        {"text": "KEY", "anycase": "1"},
        {"key": "y-1", "value": "val"},
        {"header": "Trace"},
        {"header": "none"},
        {"header": "Trace=b"},
        {"header": "Trace=B", "anycase": "true"},
        {"since": "1000", "until": "1000"},
    ],
)
def test_it_fits(said: dict[str, Any]) -> None:
    assert matcher(**said)(_RECORD)


@pytest.mark.parametrize(
    "said",
    [
        {"text": "KEY"},
        {"text": "a.*value"},
        {"key": "value"},
        {"value": "Key"},
        {"key": "Key", "value": "nothing"},
        {"header": "trace"},
        {"header": "Trac"},
        {"header": "Trace=abcd"},
        {"header": "none=x"},
        {"since": "1001"},
        {"until": "999"},
    ],
)
def test_it_does_not(said: dict[str, Any]) -> None:
    assert not matcher(**said)(_RECORD)


def test_a_null_has_nothing_in_it() -> None:
    assert not matcher(value="x")(Record(0, 0, None, None))
    assert not matcher(text="x")(Record(0, 0, None, None))


def test_whether_anything_is_looked_for() -> None:
    assert matcher(anycase="1").fits_all
    assert not matcher(header="x").fits_all
