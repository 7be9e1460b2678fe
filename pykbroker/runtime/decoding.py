"""How many records the loop may decode in one turn.

A few records of a batch are decoded at once, which costs less than a thread. But a request may have thousands of such batches,
so all of a turn share one allowance; what is beyond it is done in a thread.
"""

from __future__ import annotations

from pykbroker.runtime.waits import WakeQueue

#: Records of one batch, and of all batches of a turn: a record takes about a microsecond.
OF_A_BATCH = 256
OF_A_TURN = 2048


class DecodingAllowance:
    """See the module. It is whole again after each turn."""

    __slots__ = ("_left", "_wake_queue")

    def __init__(self, wake_queue: WakeQueue) -> None:
        self._wake_queue = wake_queue
        self._left = OF_A_TURN

    def take(self, records: int) -> bool:
        """Whether a batch that takes as long as this many records may be decoded now; it is counted then."""
        if records > OF_A_BATCH or records > self._left:
            return False
        if self._left == OF_A_TURN:
            self._wake_queue.add(self._renew)
        self._left -= records
        return True

    def _renew(self) -> None:
        self._left = OF_A_TURN
