"""The log as lines of text, one for each record: what clients put into it ends no line, moves no cursor and fills no disk."""

from __future__ import annotations

import logging
from typing import Final

_FORMAT: Final = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
#: Of a message. Clients may send names of megabytes before they have signed in.
MOST_CHARACTERS: Final = 4000
#: Control characters, and what else begins a line.
_ESCAPES: Final = {code: ascii(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


class TextLines(logging.Formatter):
    """See the module. The trace of an exception follows in lines of its own."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = shortened(record.message)
        line = super().formatMessage(record)
        return line if line.isprintable() else line.translate(_ESCAPES)


def shortened(message: str) -> str:
    """The beginning of a message that is too long, and how long it was."""
    if len(message) <= MOST_CHARACTERS:
        return message
    return f"{message[:MOST_CHARACTERS]}... ({len(message)} characters)"
