"""Which leader epoch began at which offset: the cache behind leader-epoch-checkpoint (KIP-101, KIP-320)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    """Epochs with their start offsets; both rise.

    The checkpoint file is written when the log is flushed and not before: every batch names its epoch, so recovery
    finds again what a kill took from memory.
    """

    __slots__ = ("_epochs", "_starts", "changed")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start in entries:
            self.assign(epoch, start)
        #: True when memory holds what the file does not.
        self.changed = False

    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def latest(self) -> int:
        """The newest epoch, or -1."""
        return self._epochs[-1] if self._epochs else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that ``epoch`` begins at ``start_offset``; entries that contradict it are dropped, a repeat is ignored."""
        if epoch < 0:
            return
        if self._epochs and self._epochs[-1] == epoch and start_offset >= self._starts[-1]:
            return
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start_offset):
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.changed = True

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch not above ``epoch``: where a reader of that epoch must stop.

        (-1, -1) where nothing is known, as OffsetForLeaderEpoch answers.
        """
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end_offset
        above = bisect_right(self._epochs, epoch)
        if above == 0:
            return epoch, self._starts[0]
        return self._epochs[above - 1], self._starts[above]

    def epoch_at(self, offset: int) -> int:
        """The epoch in which ``offset`` was written, or -1."""
        above = bisect_right(self._starts, offset)
        return self._epochs[above - 1] if above else UNDEFINED_EPOCH

    def truncate_end(self, end_offset: int) -> None:
        """Forget epochs that begin at ``end_offset`` or later."""
        while self._starts and self._starts[-1] >= end_offset:
            self._epochs.pop()
            self._starts.pop()
            self.changed = True

    def truncate_start(self, start_offset: int) -> None:
        """Forget epochs that end before ``start_offset``; the one that holds it begins there from now on."""
        below = bisect_right(self._starts, start_offset)
        if below and self._starts[below - 1] != start_offset:
            self._starts[below - 1] = start_offset
            self.changed = True
        if below > 1:
            del self._epochs[: below - 1], self._starts[: below - 1]
            self.changed = True

    def clear(self) -> None:
        """Forget all."""
        self.changed = self.changed or bool(self._epochs)
        self._epochs.clear()
        self._starts.clear()
