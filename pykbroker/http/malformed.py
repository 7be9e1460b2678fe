"""What is no HTTP at all is refused without a trace in the log: anybody who reaches the port can send it as often as he likes."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp.http_exceptions import HttpProcessingError

log = logging.getLogger(__name__)

_LONGEST: Final = 200


class _Malformed(logging.Filter):
    """Lets through what the server has to say of anything else."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, HttpProcessingError):
            return True
        log.debug("Refused what is no HTTP: %s", " ".join(str(error).split())[:_LONGEST])
        return False


_FILTER: Final = _Malformed()


def server_log() -> logging.Logger:
    """Where the server library tells of errors."""
    server = logging.getLogger("pykbroker.http.server")
    server.addFilter(_FILTER)  # once: it is the same
    return server
