"""Directs what Spark says to a file, to keep the terminal for the job's own output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOG = "spark.log"
_UNREAD = b"Error reading file(s): "
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n%ex
"""


def logging_to(log: Path) -> str:
    """The JVM option that directs warnings to ``log``. Writes Log4j's configuration to the same folder."""
    logging = log.with_name("log4j2.properties")
    logging.write_text(_LOGGING.format(file=log))
    return f"-Dlog4j2.configurationFile={logging.as_uri()}"


@contextmanager
def output_to(file: Path) -> Iterator[None]:
    """Directs standard output and error, also of processes started within, to a file: Java and Spark's resolver write to the one before
    logging is set up, and Delta Lake to the other, where the command's own results go.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with file.open("ab") as target:
        for number in kept:
            os.dup2(target.fileno(), number)
    try:
        yield
    finally:
        for number, descriptor in kept.items():
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def files_noted(log: Path) -> Iterator[None]:
    """Adds to errors raised within, as a note, the log's new lines about files that could not be read: Iceberg names them nowhere else."""
    before = log.stat().st_size if log.exists() else 0
    try:
        yield
    except Exception as error:
        with suppress(OSError), log.open("rb") as written:
            written.seek(before)
            for line in written:
                if _UNREAD in line:
                    error.add_note(line[line.index(_UNREAD) :].decode(errors="replace").strip())
                    break
        raise
