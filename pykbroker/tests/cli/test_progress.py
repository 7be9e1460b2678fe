"""The line that tells how far a command is."""

from __future__ import annotations

import io

from pykbroker.cli.progress import ProgressLine
from pykbroker.runtime.clock import ManualClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_one_line_is_rewritten_twice_a_second_and_then_gone() -> None:
    clock, terminal = ManualClock(), Terminal()
    progress = ProgressLine(clock, terminal)
    progress.tell("too early")
    clock.advance(500)
    progress.tell("half")
    progress.tell("too soon")
    assert terminal.getvalue() == "\r\x1b[2Khalf"
    progress.done()
    assert terminal.getvalue() == "\r\x1b[2Khalf\r\x1b[2K"


def test_nothing_is_shown_where_nobody_looks_on() -> None:
    clock, pipe = ManualClock(), io.StringIO()
    progress = ProgressLine(clock, pipe)
    clock.advance(5000)
    progress.tell("half")
    progress.done()
    assert pipe.getvalue() == ""
