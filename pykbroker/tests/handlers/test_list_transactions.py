"""Patterns of ListTransactions: what RE2 knows is taken, what it leaves out is refused."""

from __future__ import annotations

import pytest

from pykbroker.handlers.list_transactions import _pattern
from pykbroker.wire.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("text", [None, ""])
def test_no_pattern(text):
    assert _pattern(text) is None


def test_a_pattern():
    pattern = _pattern("a+")
    assert pattern.matches("aa")
    assert not pattern.matches("aab")


@pytest.mark.parametrize("text", ["(", "a{1001}", r"(a)\1", "(?=a)", "a*+"])
def test_refused(text):
    with pytest.raises(KafkaError) as refused:
        _pattern(text)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
