"""One line for each record, whatever clients put into it."""

from __future__ import annotations

import logging

import pytest

from pykbroker.process.json_lines import JsonLines
from pykbroker.process.log_lines import MOST_CHARACTERS, TextLines


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("test", logging.WARNING, "", 0, message, arguments, None)


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_what_a_client_is_called_ends_no_line(end: str) -> None:
    line = TextLines().format(record("Group %s is new", f"g{end}2026-01-01 INFO forged: a line"))
    assert line.splitlines() == [line]
    assert line.endswith(f"Group g{ascii(end)[1:-1]}2026-01-01 INFO forged: a line is new")


def test_it_moves_no_cursor() -> None:
    assert "g\\x1b[2J\\x9b1A" in TextLines().format(record("Group %s", "g\x1b[2J\x9b1A"))


def test_it_turns_no_text_around_and_hides_none() -> None:
    line = TextLines().format(record("Group %s", "a\u202eb\u200bc\ud800"))
    assert line.endswith("Group a\\u202eb\\u200bc\\ud800")


def test_what_people_read_stays_as_it_is() -> None:
    assert TextLines().format(record("Gruppe %s", "Bröt 漢字 'a' \\n")).endswith(" test: Gruppe Bröt 漢字 'a' \\n")


@pytest.mark.parametrize("form", [TextLines(), JsonLines()])
def test_a_message_that_is_too_long_is_cut(form: logging.Formatter) -> None:
    line = form.format(record("User %s", "x" * 1_000_000))
    assert len(line) < MOST_CHARACTERS + 300
    assert "xxx... (1000005 characters)" in line


def test_a_trace_follows_in_lines_of_its_own() -> None:
    try:
        raise ValueError("why \x1bc\n2026-01-01 INFO forged: a line")
    except ValueError as error:
        failed = logging.LogRecord(
            "test", logging.ERROR, "", 0, "It\nfailed", (), (ValueError, error, error.__traceback__)
        )
    first, *trace = TextLines().format(failed).splitlines()
    assert first.endswith("It\\nfailed")
    assert trace[-2:] == ["  ValueError: why \\x1bc", "  2026-01-01 INFO forged: a line"]
