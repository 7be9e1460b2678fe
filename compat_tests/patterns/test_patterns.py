"""Our patterns against RE2/J, which Kafka uses: the same texts matched, the same patterns refused, in the same words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from compat_tests.harness.java import compile_java, java_command
from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern

Ask = Callable[[str, list[str]], list[bool] | str]

TEXTS = [
    *(
        "",
        "a",
        "b",
        "ab",
        "aab",
        "abc",
        "A",
        "AB",
        "1",
        "12",
        "topic.a-1_x",
        "a\n",
        "\n",
        " ",
        "\t",
        "*",
        "a*",
        "_",
        "-",
    ),
    *("é", "É", "K", "K", "k", "s", "\u017f", "ß", "😀", "αβ", "[", "]", "{", "a{", "n", "Q", "E", "a,2", "\x00", "ε"),
]

# One subject a line. Each is asked with every text above.
_TABLE = r"""
    topic.* .* a|b (a|b)+ ^a$ ^ $ \Aab\z a\b \Ba a?? a*? a+? a{2} a{2,} a{1,2} a{0} a{,2} a{2}? () (?:) | a|| ^* $+ \b+
    [abc] [^abc] [a-z]+ [^a-z] []a] [^]a] [a-] [-a] [a-b-c] [a\]] [\w-]+ [[:alpha:]]+ [[:^alpha:]] [[:word:]]+ [:alpha:]
    \d+ \D \w+ \W \s \S \t \n \f \v \r \a \. \- \_ \x41 \x{41} \x{1F600} \012 \01 \0 \077 \é \É [\é] \Qa*\E \Qa* \Q\é\C\E
    \pN \p{N}+ \PN \p{Greek}+ \p{^Greek} \P{^Lu} \p{Any} \p{L}+ \p{Latin}+ [\pN\p{Lu}]+ \p{Lu} \p{Ll}
    (?i)a (?i)AB (?i:a)b (?i)k (?i)s (?i)ß (?i)[[:upper:]] (?i)\p{Lu} (?i-s). (?s). (?s)a. (?m)^a$ (?U)a+ (?-i)a (?P<x>a) (?<x>a)
    (?P<x>a)(?P<y>b) x* . a. é . {} {a} a} {,2} a{, a{2 a{2,3
    ( ) (a)) a) [ [a [] [^] \ a\ * + ? ** a** a*+ a++ a?+ a{2}{3} a{2}* a{3,2} a{1001} a{2,1001} |* (* (|*
    (?=a) (?!a) (?<=a) (?<!a) (?<=a)b(?<!c) (?>a) (?#a) (?x)a (?P=x) (?P>x) (?R) (?1) (?&x) (?|a) (?^a) (?i-)a (?-)a (? (?i (?:a (*VERB)
    (?P<x>a)(?P<x>b) (?<x>a)(?P<x>b) (?P<x-y>a) (?P<>a) (?P<é>a) (?P<x (?<x
    \1 (a)\1 \8 \8a \18 \Z \C [\C] \E \e \h \R \X \G \K \N \cA \x \x4 \x{} \x{110000} \p \P \pX \p{ \p{Foo} [\p [\pX] [[:foo:]]
    [z-a] [a-\d] [\d-z] [\Q] [\b] {* a{* a{+ a{? {{2} {{2,} [{*] \{* \Q{*\E a{2{* a{1,x}*
"""
PATTERNS = _TABLE.split()


@pytest.fixture(scope="module")
def re2j() -> Iterator[Ask]:
    """Asks RE2/J which texts a pattern matches; the answer is a text where it refuses the pattern."""
    classes = compile_java([Path(__file__).with_name("Re2jPatterns.java")], "kafka")
    command = java_command("Re2jPatterns", "kafka", classes=classes)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(pattern: str, texts: list[str]) -> list[bool] | str:
            process.stdin.write(json.dumps([pattern, *texts]) + "\n")
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def ours(pattern: str, texts: list[str]) -> list[bool] | str:
    try:
        compiled = compile_pattern(pattern)
    except InvalidPattern as refused:
        return str(refused)
    return [compiled.matches(text) for text in texts]


@pytest.mark.parametrize("pattern", ["", " ", "a b", *PATTERNS])
def test_the_table(re2j, pattern):
    assert ours(pattern, TEXTS) == re2j(pattern, TEXTS)


@settings(deadline=None, max_examples=1500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PATTERNS), max_size=4).map("".join), st.lists(st.text("abAB{}[1é-", max_size=5)))
def test_patterns_put_together(re2j, pattern, texts):
    assume("(?i" not in pattern or r"\p" not in pattern.lower())  # the known difference
    our, their = ours(pattern, texts), re2j(pattern, texts)
    if isinstance(our, str) and isinstance(their, str):
        return  # of several faults each names the one that it finds first
    assert our == their


def test_what_is_known_to_differ(re2j):
    assert (ours(r"(?i)\p{Ll}", ["A"]), re2j(r"(?i)\p{Ll}", ["A"])) == ([True], [False])
    assert (ours("(a{100}){11}", ["a"]), re2j("(a{100}){11}", ["a"])) == ("invalid repeat count", [False])
    assert (ours(r"\p{L}{1000}", ["a"]), re2j(r"\p{L}{1000}", ["a"])) == ("expression is too large", [False])
