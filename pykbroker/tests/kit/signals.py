"""Signals as a terminal has them."""

from __future__ import annotations

import signal


def as_at_a_terminal() -> None:
    """Undo that a shell which runs the tests in the background, or nohup, has told them, and so what they start, to ignore signals."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
