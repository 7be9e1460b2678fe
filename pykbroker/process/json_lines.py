"""The log as lines of JSON, for programs that collect logs (``--log-format json``)."""

from __future__ import annotations

import json
import logging

from pykbroker.process.log_lines import shortened
from pykbroker.runtime.clock import utc_text


class JsonLines(logging.Formatter):
    """A record as one object: ``time``, ``level``, ``logger``, ``thread``, ``message``, and ``exception`` where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": utc_text(record.created),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": shortened(record.getMessage()),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            said["stack"] = record.stack_info
        return json.dumps(said)
