r"""Java's ``.properties`` text, the form of ``server.properties``, read and written.

A natural line ends at LF, CR or CR LF; an odd number of backslashes at its end continues it, and the blanks that open
the next line are dropped. ``#`` or ``!`` as first character makes a comment (which cannot be continued). A key ends at
the first unescaped ``=``, ``:`` or blank. ``\t \n \r \f \uXXXX`` are escapes; before any other character the backslash
falls away. Of a key given twice the last value counts. A file is ISO-8859-1: what that lacks is written ``\uXXXX``, beyond the
first 65,536 characters as a pair of surrogates. (Source: java.util.Properties.load.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BLANKS: Final = " \t\f"
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.|$)", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN: Final = {"\\": "\\\\", **{letter: f"\\{name}" for name, letter in _LETTERS.items()}}
_KEY: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


class PropertiesError(ValueError):
    """Text that is not in the form of a .properties file."""


def parse_properties(text: str) -> dict[str, str]:
    r"""Keys and values of ``text`` in the order of their first mention. Raises PropertiesError on a bad ``\u`` escape."""
    entries: dict[str, str] = {}
    for line in _logical_lines(text):
        found = _KEY.fullmatch(line)
        assert found is not None  # the pattern matches every string
        entries[_unescape(found[1])] = _unescape(found[2])
    return entries


def text_of(entries: Mapping[str, str]) -> str:
    """Entries as Java writes them, in printable ASCII. Names are settings', which need no escapes."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in entries.items())


def load(path: Path) -> dict[str, str]:
    """The file ``path``. Raises OSError when it cannot be read, PropertiesError when it is no such text."""
    try:
        return parse_properties(path.read_text(encoding="iso-8859-1"))
    except PropertiesError as error:
        raise PropertiesError(f"{path}: {error}") from error


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with continuations joined; comments and empty lines are left out."""
    pending: str | None = None
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANKS)
        if not pending and (not line or line[0] in "#!"):
            continue
        joined = (pending or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending = joined[:-1]
            continue
        pending = None
        yield joined
    if pending:
        yield pending


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    unescaped = _ESCAPE.sub(_character, text)
    return unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs are one character each


def _character(found: re.Match[str]) -> str:
    escape = found[1]
    if escape == "u":
        raise PropertiesError(f"{found.string!r}: a \\u escape needs four hexadecimal digits")
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _LETTERS.get(escape, escape)


def _escaped(value: str) -> str:
    blanks = len(value) - len(value.lstrip(" "))  # Java drops those at the beginning
    written = "".join(_WRITTEN.get(c) or (c if " " <= c <= "~" else _code_units(c)) for c in value[blanks:])
    return "\\ " * blanks + written


def _code_units(character: str) -> str:
    data = character.encode("utf-16-be")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
