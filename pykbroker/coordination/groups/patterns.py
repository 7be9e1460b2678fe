r"""Patterns that clients send, in the syntax of RE2: of topics (KIP-848) and of transactional ids (KIP-1152).

Apache Kafka matches them with RE2/J, this broker with Google's RE2; both take time linear in the text. Patterns are accepted
and refused as by RE2/J, with these differences: under ``(?i)``, ``\p{Ll}`` also matches capital letters; nested counts
multiply to at most 1000; a compiled program has at most about 10,000 instructions, and the text at most 2,000 repetitions,
1,000 classes in brackets and 100 of Unicode (``_PRICES``), since RE2 compiles larger ones for up to seconds, in which nothing else
runs, in no thread either; the versions of Unicode's tables differ.

To match holds nothing: RE2 lets other threads run meanwhile (``matching.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

#: RE2's error messages, and RE2/J's.
_DESCRIPTIONS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "regexp/syntax: internal error",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression is too large",
}

_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z) | \\(?P<escaped>.)", re.VERBOSE | re.DOTALL)
_COUNT = r"\{\d+(?:,\d*)?\}"
_TOKEN = re.compile(
    rf"""\\Q.*?(?:\\E|\Z) | \\.                                     # stepped over whole, as are classes
      | \[ \^?\]? (?: \[:\^?\w+:\] | \\. | [^\]\\] )* \]
      | \(\? P?< (?P<group>[^>]*) >
      | (?P<brace>(?!{_COUNT})\{{) (?= [*+?] | {_COUNT} )""",
    re.VERBOSE | re.DOTALL,
)


class InvalidPattern(ValueError):
    """The pattern is invalid. The text is RE2/J's message, which Kafka answers."""


#: RE2's memory for a program of which it is asked whether it is too large, and for one that is not and its matching.
_MOST_BYTES = 256 * 1024
_BYTES = 8 * 1024 * 1024
_MOST_REPETITIONS = 2000
#: Microseconds that RE2 takes at most for each class of characters before it knows the size of the program, and for all of them.
_PRICES = {r"\p": 100, r"\P": 100, r"\D": 5, r"\S": 5, r"\W": 5, "[": 10}
_MOST_US = 10_000
#: Compiled patterns that are remembered.
_REMEMBERED = 256


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_anchor", "_compiled", "size")

    def __init__(self, compiled: Any, anchor: Any) -> None:
        self._compiled = compiled
        self._anchor = anchor
        #: Instructions of the program: the most steps for a character of a text.
        self.size: int = compiled.ProgramSize()

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole of ``text``."""
        data = text.encode()
        found: list[tuple[int, int]] = self._compiled.Match(self._anchor, data, 0, len(data))
        return found[0][0] >= 0

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches a part of ``text``."""
        data = text.encode()
        found: list[tuple[int, int]] = self._compiled.Match(type(self._anchor).UNANCHORED, data, 0, len(data))
        return found[0][0] >= 0

    def those_of(self, texts: Iterable[str]) -> list[str]:
        """The texts that it matches as a whole."""
        return [text for text in texts if self.matches(text)]


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern. Raises InvalidPattern."""
    found = _compiled(text)
    if isinstance(found, str):
        raise InvalidPattern(found)
    return found


@lru_cache(_REMEMBERED)
def _compiled(text: str) -> Pattern | str:
    """The compiled pattern, or the message of the error."""
    try:
        return _compile(text)
    except InvalidPattern as error:
        return str(error)


def _compile(text: str) -> Pattern:
    re2, options = _engine()
    if sum(map(text.count, "*+?{")) > _MOST_REPETITIONS:
        raise InvalidPattern("expression is too large")
    if len(text) > _MOST_US // max(_PRICES.values()) and _price(text) > _MOST_US:
        raise InvalidPattern("expression is too large")
    plain = _ESCAPE.sub(_plain, text)
    try:
        for options.max_mem in (_MOST_BYTES, _BYTES):
            compiled = re2.compile(plain, options)
    except re2.error as error:
        raise InvalidPattern(_description(error.args[0].decode())) from None
    _refuse_what_re2j_refuses(text)
    native = re2._re2.RE2  # noqa: SLF001 - its Python wrapper costs ten times as much as a match
    return Pattern(compiled._regexp, native.Anchor.ANCHOR_BOTH)  # noqa: SLF001 - as above


def _price(text: str) -> int:
    return sum(text.count(kind) * price for kind, price in _PRICES.items())


@cache
def _engine() -> tuple[Any, Any]:
    """RE2 and the options for it, imported when the first pattern comes."""
    try:
        import re2
    except ImportError as error:
        raise InvalidPattern(f"the broker cannot use patterns without the package google-re2 ({error})") from error
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # what groups match is not asked, and finding it takes many times as long
    return re2, options


def _plain(escape: re.Match[str]) -> str:
    r"""RE2/J lets any character beyond ASCII be escaped, and has no single byte, ``\C``."""
    character = escape["escaped"]
    if character == "C":
        raise InvalidPattern("invalid escape sequence")
    return character if character and not character.isascii() else escape[0]


def _refuse_what_re2j_refuses(text: str) -> None:
    groups = set()
    for token in _TOKEN.finditer(text):
        name = token["group"]
        if token["brace"]:  # RE2/J takes a brace for a repetition even where it stands for itself
            raise InvalidPattern("invalid nested repetition operator")
        if name and not name.isascii():
            raise InvalidPattern("invalid named capture")
        if name and name in groups:
            raise InvalidPattern("duplicate capture group name")
        groups.add(name)


def _description(error: str) -> str:
    kind, _, where = error.partition(": ")
    if kind == "invalid perl operator" and where.startswith("(?<"):
        return "invalid named capture"  # RE2/J reads no further than (?<
    if kind == "invalid escape sequence" and where in {r"\p", r"\P"}:
        return "invalid character class range"
    return _DESCRIPTIONS.get(kind, kind)
