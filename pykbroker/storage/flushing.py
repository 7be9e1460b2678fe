"""Making appended data survive a power loss: planned by the loop, carried out in any thread, noted by the loop.

Appends go on while a plan is made and runs; what they add meanwhile is the next plan's. So one sync serves all that
waits for it. Each step reads shared state in an order that makes a concurrent append harmless: it may be synced too.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import LEADER_EPOCHS, encode_epochs
from pykbroker.storage.disk import File, replace_file

if TYPE_CHECKING:
    from pykbroker.storage.log import Log


class FlushPlan:
    """One flush of a log up to ``end_offset``: ``run`` then ``finish``."""

    __slots__ = ("_epochs", "_files", "_log", "_names", "end_offset")

    def __init__(self, log: Log) -> None:
        self._log = log
        self.end_offset = log.log_end_offset
        self._files: list[File] = []
        segments = log.segments
        for segment in segments[log.segment_number(log.recovery_point) : -1]:
            self._files += segment.files()
        self._files.append(segments[-1].log)
        self._names, log.unsynced = log.unsynced, []
        changed, log.epochs.changed = log.epochs.changed, False
        self._epochs = log.epochs.entries() if changed else None

    def run(self) -> None:
        """Sync; waits for the disk. Raises KAFKA_STORAGE_ERROR, and the directory is offline then: what a failed sync
        left on the disk cannot be known.
        """
        log = self._log
        disk = log.home.disk
        try:
            for file in self._files:
                # Deleted meanwhile by retention: then nobody needs it on the disk.
                with contextlib.suppress(FileNotFoundError):
                    file.sync()
            for path in self._names:
                with contextlib.suppress(FileNotFoundError):
                    disk.open(path).sync()
            if self._epochs is not None:
                replace_file(disk, f"{log.path}/{LEADER_EPOCHS}", encode_epochs(self._epochs))
            elif self._names or len(self._files) > 1:
                disk.sync_directory(log.path)
        except OSError as error:
            raise log.home.failed(error, f"flushing {log.name}") from error

    def finish(self) -> None:
        """Note that the data is on the disk."""
        log = self._log
        log.recovery_point = min(max(log.recovery_point, self.end_offset), log.log_end_offset)
