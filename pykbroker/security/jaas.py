"""Parses ``sasl.jaas.config``: a login module with options, ``Module required key="value";``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/  # between tokens
    | "(?P<double>(?:\\.|[^"\\\n])*)" | '(?P<single>(?:\\.|[^'\\\n])*)' | (?P<sign>[=;]) | (?P<word>[^\s=;"']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS: Final = {"required", "requisite", "sufficient", "optional"}


class JaasError(ValueError):
    """The value is not valid JAAS. The text never quotes the value, which contains passwords."""


class LoginModule(NamedTuple):
    """The class name and options of a login module."""

    name: str
    options: dict[str, str]


def parse_jaas(text: str) -> LoginModule:
    """The login module in the value of a mechanism. Raises JaasError."""
    words = _words(text)
    if not words:
        raise JaasError("Login module not specified in JAAS config")
    if words[-1] != _END:
        raise JaasError("JAAS config entry not terminated by semi-colon")
    if words.count(_END) > 1:
        raise JaasError("JAAS config has more than one login module, but a mechanism takes one")
    name, *rest = words[:-1]
    if not rest or rest[0].lower() not in _FLAGS:
        raise JaasError(
            "Login module control flag not specified in JAAS config: write `required` after the module's name"
        )
    return LoginModule(name, _options(rest[1:]))


_END: Final = "\0;"
_EQUALS: Final = "\0="


def _words(text: str) -> list[str]:
    """The words and strings; the signs ; and = are marked by a NUL, so that no string equals them."""
    words, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise JaasError(
                "JAAS config has an unterminated string: check its quotes, and any backslash before the last one"
            )
        at = found.end()
        if found["sign"] is not None:
            words.append("\0" + found["sign"])
        elif (quoted := found["double"] if found["double"] is not None else found["single"]) is not None:
            words.append(_ESCAPE.sub(_character, quoted))
        elif found["word"] is not None:
            words.append(found["word"])
    return words


def _character(escape: re.Match[str]) -> str:
    meant = escape[1]
    return chr(int(meant, 8)) if meant.isdecimal() and meant < "8" else _LETTERS.get(meant, meant)


def _options(words: list[str]) -> dict[str, str]:
    if len(words) % 3 or any(words[at] != _EQUALS for at in range(1, len(words), 3)):
        raise JaasError('Value not specified for an option in JAAS config: options are written key="value"')
    keys, values = words[::3], words[2::3]
    if any(word.startswith("\0") for word in (*keys, *values)):
        raise JaasError('Value not specified for an option in JAAS config: options are written key="value"')
    return dict(zip(keys, values, strict=True))
