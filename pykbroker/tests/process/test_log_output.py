"""The log's way out: in order, never waited for, and what is dropped is counted."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pykbroker.process.log_output import MOST_ALIKE, LogLineWriter, install


@contextmanager
def log_to_a_pipe(most_waiting: int = 10_000) -> Iterator[tuple[logging.Logger, LogLineWriter, int]]:
    read, write = os.pipe()
    writer = LogLineWriter(write, most_waiting)
    logger = logging.Logger("test", logging.DEBUG)  # noqa: LOG001 - one that nobody else has
    logger.addHandler(writer)
    try:
        yield logger, writer, read
    finally:
        writer.close()
        os.close(write)
        os.close(read)


def lines(read: int) -> list[str]:
    return os.read(read, 1 << 20).decode().splitlines()


def test_lines_leave_in_their_order() -> None:
    with log_to_a_pipe() as (logger, writer, read):
        for number in range(100):
            logger.info("line %d", number)
        writer.flush()
        assert [line.rpartition(": ")[2] for line in lines(read)] == [f"line {number}" for number in range(100)]


def test_an_unread_pipe_keeps_nobody_waiting_and_what_is_dropped_is_counted() -> None:
    with log_to_a_pipe(most_waiting=50) as (logger, writer, read):
        for _ in range(1000):
            logger.debug("x" * 1000)  # a pipe takes 64 of these
        told, missing = bytearray(), 0
        while told.count(b"x" * 1000) + missing < 1000:
            told += os.read(read, 1 << 20)
            missing = sum(map(int, re.findall(rb"(\d+) log lines are missing here", told)))
        assert told.count(b"x" * 1000) + missing == 1000
        assert missing
        logger.info("the last")
        writer.flush()
        assert lines(read)[-1].endswith("the last")


def test_a_line_that_cannot_be_formatted_is_told_of() -> None:
    with log_to_a_pipe() as (logger, writer, read):
        logger.info("%d", "no number")
        writer.flush()
        assert "cannot be formatted" in lines(read)[0]


def test_a_reader_that_is_gone_is_no_trouble() -> None:
    read, write = os.pipe()
    os.close(read)
    writer = LogLineWriter(write)
    writer.handle(logging.makeLogRecord({"msg": "into the void"}))
    writer.flush()
    writer.handle(logging.makeLogRecord({"msg": "again"}))
    writer.close()
    os.close(write)


@pytest.mark.parametrize("blocking", [True, False])
def test_all_of_a_long_backlog_leaves_once_somebody_reads(blocking: bool) -> None:
    with log_to_a_pipe() as (logger, writer, read):
        os.set_blocking(writer._descriptor, blocking)
        for number in range(2000):
            logger.debug("%04d %s", number, "x" * 200)
        got = bytearray()

        def take() -> None:
            while b"1999 " not in got:
                got.extend(os.read(read, 1 << 16))

        reader = threading.Thread(target=take)
        reader.start()
        reader.join(20)
        assert got.count(b"\n") == 2000


@pytest.mark.parametrize("as_json", [True, False])
def test_lines_have_all_that_their_form_shows(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    for name in ("_srcfile", "logThreads", "logProcesses", "logMultiprocessing"):
        monkeypatch.setattr(logging, name, getattr(logging, name))
    monkeypatch.setattr(logging, "root", logging.RootLogger(logging.WARNING))
    read, write = os.pipe()
    writer = install(logging.INFO, {}, write, as_json=as_json)
    logging.root.info("told")
    writer.close()
    (line,) = lines(read)
    os.close(read)
    os.close(write)
    if as_json:
        said = json.loads(line)
        assert (said.pop("time")[:2], said) == (
            "20",
            {"level": "INFO", "logger": "root", "thread": "MainThread", "message": "told"},
        )
    else:
        assert re.fullmatch(r"20\d\d-\S+ \S+ INFO    root: told", line)


def write_all(writer: LogLineWriter) -> None:
    """``flush`` waits for the reader of the log for a while, and on a starved machine for the thread that writes."""
    writer.flush()
    written = threading.Event()
    writer._waiting.put(written)
    assert written.wait(60)


def alike(count: int, second: int, text: str = "of %d", level: int = logging.INFO) -> Iterator[logging.LogRecord]:
    for number in range(count):
        record = logging.LogRecord("test", level, "", 0, text, (number,), None)
        record.created = second + number / count
        yield record


def test_of_lines_of_one_kind_some_are_written_in_a_second_and_the_rest_is_counted() -> None:
    with log_to_a_pipe() as (logger, writer, read):
        for each in (*alike(MOST_ALIKE + 7, 1000), *alike(1, 1000, "another %d"), *alike(1, 1001)):
            logger.handle(each)
        write_all(writer)
        told = [line.partition(": ")[2] for line in lines(read)]
    assert told[:MOST_ALIKE] == [f"of {number}" for number in range(MOST_ALIKE)]
    left = "7 more lines of test are left out here, too many in one second: of %d"
    assert told[MOST_ALIKE:] == ["another 0", left, "of 0"]


def test_the_last_lines_of_one_kind_are_counted_at_the_end() -> None:
    with log_to_a_pipe() as (logger, writer, read):
        for each in alike(MOST_ALIKE + 1, 1000):
            logger.handle(each)
        write_all(writer)
        assert "1 more lines of test are left out here" in lines(read)[-1]


def test_what_is_logged_for_somebody_who_looks_closely_is_all_there() -> None:
    with log_to_a_pipe() as (logger, writer, read):
        for each in alike(2 * MOST_ALIKE, 1000, level=logging.DEBUG):
            logger.handle(each)
        write_all(writer)
        assert len(lines(read)) == 2 * MOST_ALIKE
