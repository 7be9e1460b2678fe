"""The log as lines of text, one per record. Text of clients is escaped and shortened, so that it cannot forge or flood lines."""

from __future__ import annotations

import logging
from typing import Final

_FORMAT: Final = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
#: The longest message, in characters: clients may send names of megabytes before they are authenticated.
MOST_CHARACTERS: Final = 4000
#: Control characters, and other line separators.
_ESCAPES: Final = {code: ascii(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


class TextLines(logging.Formatter):
    """See the module. The traceback of an exception follows in further lines."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = shortened(record.message)
        line = super().formatMessage(record)
        return line if line.isprintable() else line.translate(_ESCAPES)


def shortened(message: str) -> str:
    """The message; of one that is too long the beginning and the length."""
    if len(message) <= MOST_CHARACTERS:
        return message
    return f"{message[:MOST_CHARACTERS]}... ({len(message)} characters)"
