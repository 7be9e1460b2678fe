"""The start offsets of leader epochs, stored in leader-epoch-checkpoint (KIP-101, KIP-320)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochs:
    """Epochs with their start offsets; both rise.

    The checkpoint file is written when the log is flushed: every batch has its epoch, so recovery finds epochs that a kill
    took from memory.
    """

    __slots__ = ("_entries", "changed", "latest")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._entries: list[tuple[int, int]] = []
        #: The newest epoch, or -1. An attribute, since each append compares it.
        self.latest = UNDEFINED_EPOCH
        for epoch, start in entries:
            self.assign(epoch, start)
        #: Whether memory has entries that the file lacks.
        self.changed = False

    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note the start offset of ``epoch``; contradicting entries are dropped, a repeat is ignored."""
        entries = self._entries
        if epoch < 0 or (entries and entries[-1][0] == epoch and start_offset >= entries[-1][1]):
            return
        while entries and (entries[-1][0] >= epoch or entries[-1][1] >= start_offset):
            entries.pop()
        entries.append((epoch, start_offset))
        self.latest = epoch
        self.changed = True

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch not above ``epoch``, where a reader of that epoch must stop.

        (-1, -1) if none is known, as OffsetForLeaderEpoch answers.
        """
        if epoch == UNDEFINED_EPOCH or epoch > self.latest or not self._entries:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        above = bisect_right(self._entries, epoch, key=_epoch)
        if above == 0:
            return epoch, self._entries[0][1]
        return self._entries[above - 1][0], self._entries[above][1]

    def start_of(self, epoch: int) -> int:
        """The start offset of ``epoch``, -1 if it is unknown."""
        return next((start for known, start in reversed(self._entries) if known == epoch), UNDEFINED_OFFSET)

    def epoch_at(self, offset: int) -> int:
        """The epoch in which ``offset`` was written, or -1."""
        above = bisect_right(self._entries, offset, key=_start)
        return self._entries[above - 1][0] if above else UNDEFINED_EPOCH

    def truncate_end(self, end_offset: int) -> None:
        """Remove epochs that begin at ``end_offset`` or later."""
        while self._entries and self._entries[-1][1] >= end_offset:
            self._entries.pop()
            self.changed = True
        self.latest = self._entries[-1][0] if self._entries else UNDEFINED_EPOCH

    def truncate_start(self, start_offset: int) -> None:
        """Remove epochs that end before ``start_offset``; the one that contains it begins there now."""
        below = bisect_right(self._entries, start_offset, key=_start)
        if below and self._entries[:below] != [(self._entries[below - 1][0], start_offset)]:
            self._entries[:below] = [(self._entries[below - 1][0], start_offset)]
            self.changed = True

    def clear(self) -> None:
        """Remove all epochs."""
        self.changed = self.changed or bool(self._entries)
        self._entries.clear()
        self.latest = UNDEFINED_EPOCH


_epoch, _start = itemgetter(0), itemgetter(1)
