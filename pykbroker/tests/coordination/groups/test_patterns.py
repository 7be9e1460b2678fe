"""Patterns: whole matches, RE2/J's refusals, and linear time. Compared with RE2/J itself in compat_tests/patterns."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pykbroker.coordination.groups.patterns import InvalidPattern, _compiled, _engine, compile_pattern


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
    _compiled.cache_clear()
    with pytest.raises(InvalidPattern, match="google-re2"):
        compile_pattern("a")
    _compiled.cache_clear()


def test_it_is_imported_when_the_first_pattern_comes():
    program = "import sys, pykbroker.coordination.groups.patterns, pykbroker.handlers.list_transactions; sys.exit('re2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    "pattern",
    [
        ".{1,1000}" * 40,  # of 360 characters: RE2 compiles it for seven seconds, if it may
        "a?" * 8000,
        r"\pL{900}",
        "(.*a)" * 6000,
    ],
)
def test_what_takes_long_to_compile_is_refused_before(pattern: str) -> None:
    with pytest.raises(InvalidPattern, match="too large"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL" * 1000,  # 80 ms
        r"[\pL\PL]" * 500,
        "(?i)" + "[a-\U0010ffff]" * 1500,
        r"\W" * 5000,
    ],
    ids=["unicode", "in brackets", "ranges", "words"],
)
def test_what_takes_long_to_read_is_not_read(pattern: str, monkeypatch) -> None:
    engine, _ = _engine()
    monkeypatch.setattr(engine, "compile", lambda *_: pytest.fail("RE2 reads it"))
    with pytest.raises(InvalidPattern, match="too large"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["((.?){30}){30}[z5]", "|".join(f"topic-{number}" for number in range(800))])
def test_what_people_and_kafka_use_is_not_too_large(pattern: str) -> None:
    assert compile_pattern(pattern).matches("topic-5")


def test_a_pattern_is_compiled_once() -> None:
    assert compile_pattern("once.*") is compile_pattern("once.*")
