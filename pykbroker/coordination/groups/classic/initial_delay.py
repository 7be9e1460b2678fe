"""The initial delay of a group's first rebalance (KIP-134).

It is ``group.initial.rebalance.delay.ms``, repeated as long as members joined meanwhile, and in total no longer than the
longest rebalance timeout of the members.
"""

from __future__ import annotations


class InitialDelay:
    """The waits of one first rebalance, in milliseconds."""

    __slots__ = ("_delay_ms", "_last_ms", "_remaining_ms", "somebody_came")

    def __init__(self, delay_ms: int, longest_ms: int) -> None:
        self._delay_ms = delay_ms
        self._last_ms = delay_ms
        self._remaining_ms = max(longest_ms - delay_ms, 0)
        self.somebody_came = False

    def another(self) -> int | None:
        """The next wait after one has passed; None if the rebalance goes on."""
        if not (self.somebody_came and self._remaining_ms):
            return None
        self.somebody_came = False
        wait_ms = min(self._delay_ms, self._remaining_ms)
        self._remaining_ms = max(self._remaining_ms - self._last_ms, 0)
        self._last_ms = wait_ms
        return wait_ms
