"""Waits for effects of a server: repeats a query until its result is the expected one, up to a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

#: Longer than the minute after which a broker aborts the transaction of a killed client. Connect's workers
#: wait for that if their leader dies while it writes settings.
LIMIT_S = 150.0


def eventually(
    ask: Callable[[], Answer], wanted: Callable[[Answer], object], limit_s: float = LIMIT_S, pause_s: float = 0.05
) -> Answer:
    """Return the first result that ``wanted`` accepts. Fails with the last result after ``limit_s``."""
    deadline = time.monotonic() + limit_s
    while not wanted(answer := ask()):
        assert time.monotonic() < deadline, f"not within {limit_s:.0f} s; last seen: {_both_ends(repr(answer))}"
        time.sleep(pause_s)
    return answer


def until(condition: Callable[[], object], what: str, limit_s: float = LIMIT_S, pause_s: float = 0.05) -> None:
    """Return when a condition is true. Fails with ``what`` after ``limit_s``."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(pause_s)


def _both_ends(text: str, size: int = 400) -> str:
    """Shorten a long text to its beginning and end."""
    return text if len(text) <= 2 * size else f"{text[:size]} [...] {text[-size:]}"
