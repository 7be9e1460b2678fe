r"""Patterns that clients send, in the syntax of RE2: of topics (KIP-848) and of transactional ids (KIP-1152).

Apache Kafka matches them with RE2/J, this broker with Google's RE2; both take time linear in the text. Patterns are accepted
and refused as by RE2/J, with these differences: under ``(?i)``, ``\p{Ll}`` also matches capital letters; nested counts
multiply to at most 1000, and a compiled program is at most 8 MB; the versions of Unicode's tables differ.
"""

from __future__ import annotations

import re
from functools import cache
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


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole of ``text``."""
        return self._compiled.fullmatch(text) is not None


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern. Raises InvalidPattern."""
    re2, options = _engine()
    try:
        compiled = re2.compile(_ESCAPE.sub(_plain, text), options)
    except re2.error as error:
        raise InvalidPattern(_description(error.args[0].decode())) from None
    _refuse_what_re2j_refuses(text)
    return Pattern(compiled)


@cache
def _engine() -> tuple[Any, Any]:
    """RE2 and the options for it, imported when the first pattern comes."""
    try:
        import re2  # noqa: PLC0415 - start-up counts
    except ImportError as error:
        raise InvalidPattern(f"the broker cannot use patterns without the package google-re2 ({error})") from error
    options = re2.Options()
    options.log_errors = False
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
