"""Writes the log in a thread, so that logging never waits for the reader of the log.

Standard error may be a full pipe. So records go into a bounded queue, and a thread writes them. Lines that come while the
queue is full are dropped, and the log says how many.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from typing import Final

from pykbroker.process.log_lines import TextLines
from pykbroker.runtime.levels import LEVELS

#: The size of the queue, in lines. A busy --verbose broker logs some thousands a second.
MOST_WAITING: Final = 10_000
#: The seconds that the end of the process waits for the remaining lines to be read.
_LAST_WAIT_S: Final = 1.0


class LogLineWriter(logging.Handler):
    """Writes records to a descriptor, each as a line, in a thread that starts with the first one."""

    def __init__(
        self, descriptor: int, most_waiting: int = MOST_WAITING, form: logging.Formatter | None = None
    ) -> None:
        super().__init__()
        self._form = form or TextLines()
        self.setFormatter(self._form)
        self._descriptor = descriptor
        self._most_waiting = most_waiting
        self._waiting: deque[str] = deque()
        self._dropped = 0
        self._writing = False
        self._closing = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record; drop it if the queue is full. Never waits for the reader."""
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - logging must not fail its caller
            line = self._own(f"A log line of {record.name} cannot be formatted ({error!r}): {record.msg!r}")
        with self._changed:
            if len(self._waiting) >= self._most_waiting:
                self._dropped += 1
                return
            self._waiting.append(line)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="pykbroker-log", daemon=True)
                self._thread.start()

    def _own(self, text: str) -> str:
        """A line about the log itself."""
        return self._form.format(logging.LogRecord(__name__, logging.WARNING, "", 0, "%s", (text,), None))

    def flush(self) -> None:
        """Return when everything is written, or the reader takes nothing for a while."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._dropped or self._writing), _LAST_WAIT_S)

    def close(self) -> None:
        """Flush, and end the thread."""
        if not self._closing:
            self.flush()
            with self._changed:
                self._closing = True
                self._changed.notify_all()
        super().close()

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    return
                lines, self._waiting = self._waiting, deque()
                self._writing = True
            self._write(lines)
            with self._changed:
                # The dropped lines came after the queued ones.
                late, self._waiting = (self._waiting, deque()) if self._dropped else (deque[str](), self._waiting)
                dropped, self._dropped = self._dropped, 0
            if dropped:
                late.append(
                    self._own(f"{dropped} log lines are missing here: nobody read the log as fast as it was written")
                )
                self._write(late)

    def _write(self, lines: deque[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        try:
            while data:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:  # another process that shares the descriptor made it non-blocking
                    import select  # noqa: PLC0415 - start-up counts

                    select.select([], [self._descriptor], [])
        except OSError:  # the reader is gone, as when a terminal was closed
            return


def install(level: int, levels: dict[str, int], descriptor: int = 2, *, as_json: bool = False) -> LogLineWriter:
    """Write the process's log to a descriptor, from ``level`` on, or from the loggers' own levels in ``levels``."""
    form = None
    if as_json:
        from pykbroker.process.json_lines import JsonLines  # noqa: PLC0415 - start-up counts

        form = JsonLines()
    logging.addLevelName(LEVELS["TRACE"], "TRACE")
    writer = LogLineWriter(descriptor, form=form)
    logging.root.handlers[:] = [writer]
    logging.root.setLevel(level)
    for name, own in levels.items():
        logging.getLogger(name).setLevel(own)
    return writer
