"""Writes the log in a thread, so that logging never waits for the reader of the log.

Standard error may be a full pipe. So records go into a bounded queue, and a thread writes them. Lines that come while the
queue is full are dropped, and the log says how many. So it is with lines of one kind (those of one call) beyond some in a second: a
client's requests cause them, as many as it likes.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Final

from pykbroker.process.log_lines import TextLines
from pykbroker.runtime.levels import LEVELS

#: The size of the queue, in lines. A busy --verbose broker logs some thousands a second.
MOST_WAITING: Final = 10_000
#: Lines of one kind in a second, from INFO on; of what is below, all are wanted.
MOST_ALIKE: Final = 100
#: The seconds that the end of the process waits for the remaining lines to be read.
_LAST_WAIT_S: Final = 1.0


class LogLineWriter(logging.Handler):
    """Writes records to a descriptor, each as a line, in a thread that starts with the first one.

    ``emit`` runs under the handler's lock, which therefore guards the count of dropped lines. The queue is the standard
    library's in C, which wakes the thread without a call of Python.
    """

    def __init__(
        self, descriptor: int, most_waiting: int = MOST_WAITING, form: logging.Formatter | None = None
    ) -> None:
        super().__init__()
        self._form = form or TextLines()
        self.setFormatter(self._form)
        self._descriptor = descriptor
        self._most_waiting = most_waiting
        #: Lines to write, events to set once the lines before them are written, and None at the end.
        self._waiting: SimpleQueue[str | threading.Event | None] = SimpleQueue()
        self._dropped = 0
        #: The lines of the present second by logger and format.
        self._second = 0
        self._alike: Counter[tuple[str, object]] = Counter()
        self._closing = False
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the record; drop it if there are too many like it, or the queue is full. Never waits for the reader."""
        if (record.levelno or 0) >= logging.INFO and self._is_one_too_many(record):
            return
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - logging must not fail its caller
            line = self._own(f"A log line of {record.name} cannot be formatted ({error!r}): {record.msg!r}")
        if self._waiting.qsize() >= self._most_waiting:
            self._dropped += 1
            return
        self._tell_of_dropped()
        self._waiting.put(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="pykbroker-log", daemon=True)
            self._thread.start()

    def _is_one_too_many(self, record: logging.LogRecord) -> bool:
        if (second := int(record.created)) != self._second:
            self._second = second
            self._tell_of_alike()
        kind = record.name, record.msg
        self._alike[kind] += 1
        return self._alike[kind] > MOST_ALIKE

    def _tell_of_alike(self) -> None:
        for (name, form), count in self._alike.items():
            if count > MOST_ALIKE:
                text = f"{count - MOST_ALIKE} more lines of {name} are left out here, too many in one second: {form}"
                self._waiting.put(self._own(text))
        self._alike.clear()

    def _tell_of_dropped(self) -> None:
        dropped, self._dropped = self._dropped, 0
        if dropped:
            text = f"{dropped} log lines are missing here: the log was not read as fast as it was written"
            self._waiting.put(self._own(text))

    def _own(self, text: str) -> str:
        """A line about the log itself."""
        return self._form.format(logging.LogRecord(__name__, logging.WARNING, "", 0, "%s", (text,), None))

    def flush(self) -> None:
        """Return when everything is written, or the reader takes nothing for a while."""
        if self._thread is not None and not self._closing:
            written = threading.Event()
            with self._held():
                self._tell_of_alike()
                self._tell_of_dropped()
                self._waiting.put(written)
            written.wait(_LAST_WAIT_S)

    def close(self) -> None:
        """Flush, and end the thread."""
        if not self._closing:
            self.flush()
            self._closing = True
            self._waiting.put(None)
        super().close()

    @contextmanager
    def _held(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def _write_all(self) -> None:
        going_on = True
        while going_on:
            entries = [self._waiting.get()]
            while not self._waiting.empty():
                entries.append(self._waiting.get())
            going_on = None not in entries
            self._write([each for each in entries if isinstance(each, str)])
            for each in entries:
                if isinstance(each, threading.Event):
                    each.set()
            if self._dropped:
                with self._held():
                    self._tell_of_dropped()

    def _write(self, lines: list[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        try:
            while data:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:  # another process that shares the descriptor made it non-blocking
                    select.select([], [self._descriptor], [])
        except OSError:  # the reader is gone, as when a terminal was closed
            return


def install(level: int, levels: dict[str, int], descriptor: int = 2, *, as_json: bool = False) -> LogLineWriter:
    """Write the process's log to a descriptor, from ``level`` on, or from the loggers' own levels in ``levels``."""
    form = None
    if as_json:
        from pykbroker.process.json_lines import JsonLines

        form = JsonLines()
    logging.addLevelName(LEVELS["TRACE"], "TRACE")
    # What no line shows is not looked up: the place of the call alone costs more than the rest of a line.
    logging._srcfile = None  # noqa: SLF001 - logging documents it
    logging.logProcesses = logging.logMultiprocessing = False
    logging.logThreads = as_json
    writer = LogLineWriter(descriptor, form=form)
    logging.root.handlers[:] = [writer]
    logging.root.setLevel(level)
    for name, own in levels.items():
        logging.getLogger(name).setLevel(own)
    return writer
