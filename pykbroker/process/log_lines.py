"""The log as lines of text, one per record. Text of clients is escaped and shortened, so that it cannot forge or flood lines."""

from __future__ import annotations

import logging
from typing import Any, Final

from pykbroker.runtime.escaping import escaped, paragraph

_FORMAT: Final = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
#: The longest message, in characters: clients may send names of megabytes before they are authenticated.
MOST_CHARACTERS: Final = 4000


class TextLines(logging.Formatter):
    """See the module. The traceback of an exception follows in further lines, which are indented."""

    def __init__(self, form: str = _FORMAT) -> None:
        super().__init__(form)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = shortened(record.message)
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return "  " + paragraph(super().formatException(ei))


def shortened(message: str) -> str:
    """The message; of one that is too long the beginning and the length."""
    if len(message) <= MOST_CHARACTERS:
        return message
    return f"{message[:MOST_CHARACTERS]}... ({len(message)} characters)"
