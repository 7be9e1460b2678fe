"""A terminal that closes and a service manager that stops us end a command as Ctrl-C does: in order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
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


@contextmanager
def ends_are_noted() -> Iterator[Callable[[], bool]]:
    """Within, the first signal that ends a command, Ctrl-C too, is only told when asked for; the next one raises Ended.

    For what cannot be broken off anywhere: a call into Java that is, leaves its connection with an answer that nobody reads.
    """
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if came:
            raise Ended(number)
        came.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ALSO)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
