"""Keeps requests that are not HTTP, or break off, out of the log: anybody who reaches the port could fill it with them."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

log = logging.getLogger(__name__)

_LONGEST: Final = 200


class _Malformed(logging.Filter):
    """Logs what the server reports of anything else."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (ConnectionError, web.RequestPayloadError)):
            log.debug("A client broke its request off: %s", _short(error))
            return False
        if not isinstance(error, HttpProcessingError):
            return True
        log.debug("Refused a request that is not HTTP: %s", _short(error))
        return False


_FILTER: Final = _Malformed()


def server_log() -> logging.Logger:
    """Return the logger for the server library."""
    server = logging.getLogger("pykbroker.http.server")
    server.addFilter(_FILTER)  # once, since the logger is shared
    return server


def what_is_wrong(error: BaseException | None) -> str:
    """Return what a client is told of an error that the server library found."""
    if isinstance(error, HttpProcessingError):
        return f"this is not HTTP as it should be: {_short(error.message)}"
    return "the broker failed to answer this: its log says why"


def _short(error: object) -> str:
    return " ".join(str(error).split())[:_LONGEST]
