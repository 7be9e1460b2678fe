"""Patterns: whole matches, RE2/J's refusals, and linear time. Compared with RE2/J itself in compat_tests/patterns."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pykbroker.coordination.groups.patterns import InvalidPattern, _engine, compile_pattern


def test_the_whole_text_must_match():
    pattern = compile_pattern("topic.*")
    assert [pattern.matches(each) for each in ("topic", "topic-1", "a-topic")] == [True, True, False]


@pytest.mark.parametrize(
    ("pattern", "description"),
    [
        ("(", "missing closing )"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        (r"(a)\1", "invalid escape sequence"),
        (r"\C", "invalid escape sequence"),
        ("(?P<x>a)(?P<x>b)", "duplicate capture group name"),
    ],
)
def test_refused(pattern, description):
    with pytest.raises(InvalidPattern) as refused:
        compile_pattern(pattern)
    assert str(refused.value) == description


def test_a_pattern_that_explodes_elsewhere():
    assert not compile_pattern("(a*)*(a|aa)+" * 4).matches("a" * 20_000 + "b")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    _engine.cache_clear()
    with pytest.raises(InvalidPattern, match="google-re2"):
        compile_pattern("a")


def test_it_is_imported_when_the_first_pattern_comes():
    program = "import sys, pykbroker.coordination.groups.patterns, pykbroker.handlers.list_transactions; sys.exit('re2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
