"""The truncation of a replica's log, whose disk a thread waits for."""

from __future__ import annotations

import threading

from pykbroker.storage.log import trimming
from pykbroker.storage.log.state import LogState
from pykbroker.wire.errors import ErrorCode, KafkaError


class TruncationPlan:
    """Drop the end of a log from ``offset`` on or, with ``start_over``, everything: the log then begins at ``offset``.

    From its making to ``finish`` neither retention nor compaction changes the log, and nothing may be appended: before that, write the
    checkpoints, or the next recovery would skip new batches.
    """

    def __init__(self, log: LogState, offset: int, *, start_over: bool = False) -> None:
        self._log = log
        self._offset = offset
        self._start_over = start_over
        self._lock = threading.Lock()
        self._has_run = False
        log.unpin()
        log.pin(self)

    def run(self) -> None:
        """Truncate, unless it has been tried, and not while another thread does; in any thread. Raises KafkaError KAFKA_STORAGE_ERROR, or
        UNKNOWN_TOPIC_OR_PARTITION for a deleted log.
        """
        with self._lock:
            if self._has_run:
                return
            self._has_run = True
            if self._log.deleted:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if self._start_over:
                trimming.start_over(self._log, self._offset)
            else:
                trimming.truncate_to(self._log, self._offset)

    def finish(self) -> None:
        """It has been run, or has failed."""
        self._log.unpin(self)
