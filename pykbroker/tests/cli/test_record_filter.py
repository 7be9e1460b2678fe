"""Which records conditions let through."""

from __future__ import annotations

import pytest

from pykbroker.cli.record_filter import parse_filters
from pykbroker.client.errors import UsageError
from pykbroker.wire.records import Record

RECORD = Record(
    key=b"order-1", value=b"a=b\xff", headers=[("source", b"web"), ("source", b"app"), ("a.b", b""), ("n", None)]
)


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        ("key=order-1", True),
        ("key=order", False),
        ("key=~order", True),
        ("key=~^\\d", False),
        ("key!=order-1", False),
        ("key!~web", True),
        ("value=a=b\udcff", True),
        ("value=~=b", True),
        ("header.source=app", True),
        ("header.source!=app", False),
        ("header.source=~^w", True),
        ("header.a.b=", True),
        ("header.n=", False),
        ("header.missing!=x", True),
        ("header.missing=~", False),
    ],
)
def test_one_condition(condition: str, passes: bool) -> None:
    wanted = parse_filters([condition])
    assert wanted is not None
    assert wanted(RECORD) is passes


def test_all_conditions_hold() -> None:
    wanted = parse_filters(["key=~order", "value=~x"])
    assert wanted is not None
    assert not wanted(RECORD)
    assert parse_filters([]) is None


def test_null_equals_nothing() -> None:
    for condition in ("key=", "value=~"):
        wanted = parse_filters([condition])
        assert wanted is not None
        assert not wanted(Record())


@pytest.mark.parametrize("text", ["", "key", "frog=1", "header.=1", "key~x", "offset=5"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError, match="is not a filter; write it as"):
        parse_filters([text])


def test_a_bad_expression() -> None:
    with pytest.raises(UsageError, match=r"'\(' is not a regular expression"):
        parse_filters(["key=~("])
