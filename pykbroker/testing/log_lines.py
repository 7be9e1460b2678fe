"""The newest log lines of each broker, kept apart from the logging of the process in which the brokers run.

Loggers belong to the process. While a broker of a test runs, the logger ``pykbroker`` passes INFO to a gate that replaces its
parent and keeps the lines. The process's own logging gets exactly what it would get without the gate.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from copy import copy
from typing import Final

from pykbroker.process.log_lines import TextLines
from pykbroker.runtime.escaping import escaped

_LOGGER: Final = logging.getLogger("pykbroker")
_KEPT: Final = 200
#: A level that works like INFO and can be told from an INFO that the process has set.
_OURS: Final = logging.INFO - 1
_FORMAT: Final = TextLines("%(asctime)s %(levelname)s %(name)s: %(message)s")


class LogLines:
    """The lines of one broker: what is logged in threads whose names begin with ``thread``."""

    def __init__(self, thread: str) -> None:
        self.thread = thread
        self._kept: deque[logging.LogRecord] = deque(maxlen=_KEPT)

    def open(self) -> None:
        _gate.add(self)

    def close(self) -> None:
        """Keep no more lines; the present ones remain. Harmless when repeated."""
        _gate.remove(self)

    def keep(self, record: logging.LogRecord) -> None:
        self._kept.append(record)

    def newest(self) -> list[str]:
        return [_FORMAT.format(record) for record in list(self._kept)]


class _Gate(logging.Handler):
    """The parent of the logger ``pykbroker`` while brokers of tests run, in place of the root logger."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[LogLines, None] = {}
        self._changing = threading.Lock()
        self._found = logging.NOTSET
        #: Not registered with ``logging``: pytest attaches its handler to registered loggers that do not propagate.
        self._logger = logging.Logger("pykbroker.testing")  # noqa: LOG001 - on purpose
        self._logger.propagate = False
        self._logger.addHandler(self)

    def add(self, lines: LogLines) -> None:
        with self._changing:
            if not self._open:
                self._found = _LOGGER.level
                self._logger.parent, _LOGGER.parent = _LOGGER.parent, self._logger
                if self._found == logging.NOTSET:
                    _LOGGER.setLevel(_OURS)
            self._open[lines] = None

    def remove(self, lines: LogLines) -> None:
        with self._changing:
            if lines not in self._open:
                return
            del self._open[lines]
            if not self._open:
                _LOGGER.parent = self._logger.parent
                if _LOGGER.level == _OURS:
                    _LOGGER.setLevel(self._found)

    def emit(self, record: logging.LogRecord) -> None:
        name = record.threadName or ""
        for lines in list(self._open):
            if name == lines.thread or name.startswith(f"{lines.thread}-"):
                lines.keep(record)
        wanted = _LOGGER.level if _LOGGER.level != _OURS else logging.root.getEffectiveLevel()
        if record.levelno >= wanted:
            logging.root.handle(_escaped(record))


def _escaped(record: logging.LogRecord) -> logging.LogRecord:
    """The record, without characters of clients that would act on the terminal on which pytest reports."""
    message = record.getMessage()
    safe = escaped(message)
    if safe != message:
        record = copy(record)
        record.msg, record.args = safe, None
    return record


_gate = _Gate()
