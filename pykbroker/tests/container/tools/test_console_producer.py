"""Lines as records, by Kafka's properties."""

from __future__ import annotations

import pytest

from pykbroker.cli.input_lines import BadLine
from pykbroker.container.tools.console_producer import LineReader
from pykbroker.container.tools.running import ToolError


@pytest.mark.parametrize(
    ("properties", "line", "expected"),
    [
        ({}, b"a\tb", (None, b"a\tb", [])),
        ({"parse.key": "true"}, b"a\tb\tc", (b"a", b"b\tc", [])),
        ({"parse.key": "true", "key.separator": "::"}, b"a::b", (b"a", b"b", [])),
        ({"parse.key": "true", "ignore.error": "true"}, b"alone", (None, b"alone", [])),
        ({"parse.key": "true", "null.marker": "NIL"}, b"NIL\tNIL", (None, None, [])),
        ({"parse.headers": "true"}, b"h:1,i:2\tv", (None, b"v", [("h", b"1"), ("i", b"2")])),
        ({"parse.headers": "true", "parse.key": "true"}, b"h:1\tk\tv", (b"k", b"v", [("h", b"1")])),
        ({"null.marker": ""}, b"", (None, b"", [])),
    ],
)
def test_records(properties: dict[str, str], line: bytes, expected: tuple[object, ...]) -> None:
    record = LineReader(properties).record(line, 5)
    assert (record.key, record.value, record.headers) == expected
    assert record.timestamp == 5


@pytest.mark.parametrize(
    ("properties", "line", "said"),
    [
        ({"parse.key": "true"}, b"alone", "stands behind the key"),
        ({"parse.headers": "true"}, b"alone", "stands behind headers"),
        ({"parse.headers": "true"}, b"h\tv", "NAME:VALUE"),
    ],
)
def test_bad_lines(properties: dict[str, str], line: bytes, said: str) -> None:
    with pytest.raises(BadLine, match=said):
        LineReader(properties).record(line, 5)


def test_a_property_that_there_is_not_is_refused() -> None:
    with pytest.raises(ToolError, match=r"print.colour is not known; there are parse.key"):
        LineReader({"print.colour": "true"})
