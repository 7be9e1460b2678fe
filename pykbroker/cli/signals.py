"""SIGTERM and SIGHUP end a command as Ctrl-C does: with its cleanup."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ALSO = (signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    """A signal ended the command; ``status`` is the exit status, as shells have it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


@contextmanager
def all_end_as_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP raise Ended, a KeyboardInterrupt, within, unless they were ignored at the start (nohup)."""

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
    """The first signal, Ctrl-C too, only sets what the yielded function returns; the next one raises Ended.

    For code that cannot be interrupted at any point: an interrupted call into Java leaves an unread response on its
    connection.
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
