"""A terminal that closes and a service manager that stops us end a command as Ctrl-C does: in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ALSO = (signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """A signal came that ends the command; ``status`` is what shells then give."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


@contextmanager
def all_end_as_ctrl_c() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise Ended, a KeyboardInterrupt; not where we were started to ignore them (nohup)."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    before = {number: signal.getsignal(number) for number in _ALSO}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
