"""Lines of JSON: each can be read by itself, whatever is logged."""

from __future__ import annotations

import json
import logging
import os

from pykbroker.process.json_lines import JsonLines
from pykbroker.process.log_output import LogLineWriter


def logged(log) -> list[dict[str, str]]:
    read, write = os.pipe()
    writer = LogLineWriter(write, 3, JsonLines())
    logger = logging.Logger("test.of.json", logging.DEBUG)  # noqa: LOG001 - one that nobody else has
    logger.addHandler(writer)
    log(logger)
    writer.close()
    os.close(write)
    with os.fdopen(read) as lines:
        return [json.loads(line) for line in lines]


def test_a_record_is_an_object() -> None:
    (line,) = logged(lambda logger: logger.warning('said %s\n"so" \ud800', "x\ty"))
    assert {name: line[name] for name in ("level", "logger", "message", "thread")} == {
        "level": "WARNING",
        "logger": "test.of.json",
        "message": 'said x\ty\n"so" \ud800',
        "thread": "MainThread",
    }


def test_the_time_is_utc(monkeypatch) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "m", (), None)
    record.created = 1_700_000_000.9996
    assert json.loads(JsonLines().format(record))["time"] == "2023-11-14T22:13:21.000Z"


def test_an_exception_is_in_the_line() -> None:
    def log(logger: logging.Logger) -> None:
        try:
            raise ValueError("bad")
        except ValueError:
            logger.exception("failed")

    (line,) = logged(log)
    assert line["message"] == "failed"
    assert line["exception"].endswith("ValueError: bad")


def test_what_the_log_says_of_itself_is_json_too() -> None:
    (line,) = logged(lambda logger: logger.info("%d", "no number"))
    assert (line["level"], "cannot be formatted" in line["message"]) == ("WARNING", True)
