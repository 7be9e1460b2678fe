"""Pauses after failed compactions of a log.

A full disk, too many open files or a killed worker are temporary; a damaged log is not, and each attempt reads it in full. So
the pause doubles with every failure, up to an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.storage.log.log import Log

_FIRST_PAUSE_S = 15.0
_LONGEST_PAUSE_S = 3600.0


class Retries:
    """Logs whose last compaction failed. Times are monotonic seconds."""

    def __init__(self) -> None:
        #: The pause after the last failure, and its end.
        self._pauses: dict[Log, tuple[float, float]] = {}

    def __len__(self) -> int:
        """The number of logs with a pause."""
        return len(self._pauses)

    def may_try(self, log: Log, now: float) -> bool:
        """Whether a compaction may be begun."""
        pause = self._pauses.get(log)
        return pause is None or pause[1] <= now

    def failed(self, log: Log, now: float) -> float:
        """Note a failure; returns the pause in seconds."""
        before = self._pauses.get(log)
        pause = _FIRST_PAUSE_S if before is None else min(2 * before[0], _LONGEST_PAUSE_S)
        self._pauses[log] = (pause, now + pause)
        return pause

    def forget(self, log: Log) -> None:
        """The log was compacted, or is no longer in use."""
        self._pauses.pop(log, None)
