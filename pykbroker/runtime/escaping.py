r"""Words of strangers as text that does nothing but be read: names and messages of clients, brokers and files.

A terminal obeys control characters (C0, DEL, C1), a pipe's reader splits at line ends, a reader's eye follows bidirectional
controls and misses what has no width. All these become escapes (``\x1b``, ``\u202e``), wherever such words are printed or
logged. Characters that people write stay: also ones that this Unicode does not know yet, and variation selectors of emoji.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

#: Unicode's categories Cc, Cf, Cs, Zl and Zp, and letters and marks that are drawn as nothing.
_CONTROLS: Final = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)


def escaped(text: str) -> str:
    """Return ``text`` on one line, with escapes for what a terminal or a reader could be misled by."""
    if text.isascii() and text.isprintable():
        return text
    return _controls().sub(_escape, text)


def escaped_layout(text: str) -> str:
    """As ``escaped``, but tabs and line ends stay: for a text that may have several lines, such as a record's value."""
    return _controls_but_layout().sub(_escape, text)


def paragraph(text: str) -> str:
    """As ``escaped``, but lines stay lines; those after the first are indented, so that none is taken for a message of its own."""
    return "\n  ".join(map(escaped, text.split("\n")))


def escaped_json(value: Any, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Return a value as JSON that reads back as the same value: unescaped as far as people write such characters."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return _controls_but_layout().sub(lambda found: json.dumps(found[0])[1:-1], text)


@cache
def _controls() -> re.Pattern[str]:
    return re.compile(f"[{_CONTROLS}]")


@cache
def _controls_but_layout() -> re.Pattern[str]:
    return re.compile(rf"(?![\t\n])[{_CONTROLS}]")


def _escape(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
