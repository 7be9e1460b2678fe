"""Making appended data survive a power loss: planned by the loop, carried out in any thread, noted by the loop.

Appends go on while a plan is made and runs; what they add meanwhile is the next plan's. So one sync serves all that
waits for it. Each step reads shared state in an order that makes a concurrent append harmless: it may be synced too.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import LEADER_EPOCHS, encode_epochs
from pykbroker.storage.disk import replace_file

if TYPE_CHECKING:
    from pykbroker.storage.log import Log


class FlushPlan:
    """One flush of a log up to ``end_offset``: ``run`` then ``finish``."""

    __slots__ = ("_epochs", "_file", "_log", "_paths", "_stable_offset", "end_offset")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._stable_offset = log.last_stable_offset
        self.end_offset = log.log_end_offset
        self._file = log.active.log
        self._paths, log.unsynced = log.unsynced, []
        changed, log.epochs.changed = log.epochs.changed, False
        self._epochs = log.epochs.entries() if changed else None

    def run(self) -> None:
        """Sync; waits for the disk. Raises KAFKA_STORAGE_ERROR; but for a full disk the directory is offline then: what
        a failed sync left on the disk cannot be known.
        """
        log = self._log
        disk = log.home.disk
        try:
            self._file.sync()
            for path in self._paths:
                # Deleted meanwhile by retention: then nobody needs it on the disk.
                with contextlib.suppress(FileNotFoundError):
                    if path == log.path:
                        disk.sync_directory(log.home.path)
                    else:
                        disk.open(path).sync()
            if self._epochs is not None:
                replace_file(disk, f"{log.path}/{LEADER_EPOCHS}", encode_epochs(self._epochs))
            elif self._paths:
                disk.sync_directory(log.path)
        except OSError as error:
            log.unsynced = self._paths + log.unsynced
            log.epochs.changed = log.epochs.changed or self._epochs is not None
            raise log.home.refused(error, f"flushing {log.name}") from error

    def finish(self) -> None:
        """Note that the data is on the disk."""
        log = self._log
        log.recovery_point = min(max(log.recovery_point, self.end_offset), log.log_end_offset)
        log.stable_point = min(max(log.stable_point, self._stable_offset), log.recovery_point)
