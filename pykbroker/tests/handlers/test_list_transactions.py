"""Patterns of ListTransactions: what RE2 knows is taken, what it leaves out is refused."""

from __future__ import annotations

import pytest

from pykbroker.handlers.list_transactions import _pattern
from wire.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("text", [None, ""])
def test_no_pattern(text):
    assert _pattern(text) is None


@pytest.mark.parametrize(
    "text",
    [".*", "a{1000}", r"\\1", r"[\1]", "(?:a)", "(?P<x>a)", "(?i)a", "[*+]", "[]*+]", "a+?", r"\+\+", r"[(?=]"],
)
def test_taken(text):
    assert _pattern(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "(",
        "a{1001}",
        "a{2,1001}",
        r"(a)\1",
        r"\\\1",
        "(?P<x>a)(?P=x)",
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(?>a)",
        "(?#a)",
        "a*+",
        "a{3}+",
        "(a)(?(1)b|c)",
    ],
)
def test_refused(text):
    with pytest.raises(KafkaError) as refused:
        _pattern(text)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
