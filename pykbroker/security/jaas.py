"""Parses ``sasl.jaas.config``: a login module with options, ``Module required key="value";``. And files of entries with such
modules, which Java reads by java.security.auth.login.config: ``Name { Module required key="value"; };``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/  # between tokens
    | "(?P<double>(?:\\.|[^"\\\n])*)" | '(?P<single>(?:\\.|[^'\\\n])*)' | (?P<sign>[=;{}]) | (?P<word>[^\s=;{}"']+)""",
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

    def text(self) -> str:
        """The module as a value of sasl.jaas.config, which ``parse_jaas`` reads."""
        options = (f'{name}="{_QUOTED.sub(_escaped, value)}"' for name, value in self.options.items())
        return " ".join([self.name, "required", *options]) + ";"


def parse_jaas(text: str) -> LoginModule:
    """The login module in the value of a mechanism. Raises JaasError."""
    words = _words(text)
    if not words:
        raise JaasError("Login module not specified in JAAS config")
    if words[-1] != _END:
        raise JaasError("JAAS config entry not terminated by semi-colon")
    if words.count(_END) > 1:
        raise JaasError("JAAS config has more than one login module, but a mechanism takes one")
    return _module(words[:-1])


def parse_jaas_file(text: str) -> dict[str, list[LoginModule]]:
    """The entries of a file, with their login modules. Raises JaasError."""
    words, entries = _words(text), dict[str, list[LoginModule]]()
    while words:
        try:
            end = words.index(_CLOSE)
            (name, opened), body, closed = words[:2], words[2:end], words[end + 1]
        except (ValueError, IndexError):
            raise JaasError(_NO_ENTRY) from None
        if name.startswith("\0") or (opened, closed) != (_OPEN, _END) or (body and body[-1] != _END):
            raise JaasError(_NO_ENTRY)
        entries[name] = [_module(each) for each in _split(body)]
        words = words[end + 2 :]
    return entries


def _split(words: list[str]) -> Iterator[list[str]]:
    """What precedes each end."""
    while words:
        end = words.index(_END)
        yield words[:end]
        words = words[end + 1 :]


def _module(words: list[str]) -> LoginModule:
    name, *rest = words or [""]
    if not rest or rest[0].lower() not in _FLAGS:
        raise JaasError(
            "Login module control flag not specified in JAAS config: write `required` after the module's name"
        )
    return LoginModule(name, _options(rest[1:]))


_END: Final = "\0;"
_EQUALS: Final = "\0="
_OPEN: Final = "\0{"
_CLOSE: Final = "\0}"
_QUOTED: Final = re.compile(r'["\\\n\r]')
_NO_ENTRY: Final = 'A JAAS file has entries of the form `KafkaServer { Module required key="value"; };`'


def _escaped(found: re.Match[str]) -> str:
    return {"\n": "\\n", "\r": "\\r"}.get(found[0], f"\\{found[0]}")


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
