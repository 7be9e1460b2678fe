"""Time as an injected object; nothing else in the broker reads a clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Clock(Protocol):
        """Wall time for timestamps, monotonic time for durations."""

        def now_ms(self) -> int:
            """Milliseconds since the epoch, as record timestamps count them."""
            ...

        def monotonic(self) -> float:
            """Seconds on a clock that never goes back."""
            ...

        def step_to(self, ahead_ms: int) -> None:
            """Let the wall time be so many milliseconds ahead of what it would be (behind, if negative); 0 corrects it."""
            ...


class SystemClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        #: An attribute, so that a clock that nobody steps asks nothing else.
        self.now_ms: Callable[[], int] = _machine_ms

    monotonic = staticmethod(time.monotonic)

    def step_to(self, ahead_ms: int) -> None:
        self.now_ms = (lambda: _machine_ms() + ahead_ms) if ahead_ms else _machine_ms


def _machine_ms() -> int:
    return time.time_ns() // 1_000_000


def utc_text(seconds: float) -> str:
    """Seconds since the epoch in ISO 8601, to the millisecond."""
    ms = round(seconds * 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03}Z"


def thread_seconds() -> float:
    """Seconds of CPU that the calling thread has used."""
    return time.thread_time()


class ManualClock:
    """A clock that stands still until a test or the simulator moves it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._passed_ms = 0
        self._ahead_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._passed_ms / 1000

    def advance(self, ms: int) -> None:
        """Move both times forward by ``ms`` milliseconds."""
        self._now_ms += ms
        self._passed_ms += ms

    def set_wall(self, now_ms: int) -> None:
        """Set the wall time, as an administrator or a time server does; it may go back. The monotonic time stays."""
        self._now_ms = now_ms

    def step_to(self, ahead_ms: int) -> None:
        self._now_ms += ahead_ms - self._ahead_ms
        self._ahead_ms = ahead_ms
