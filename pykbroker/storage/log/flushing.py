"""Making appended data survive a power loss: planned by the loop, carried out in any thread, noted by the loop.

Appends go on while a plan is made and runs; what they add meanwhile is the next plan's. So one sync serves all that
waits for it. Each step reads shared state in an order that makes a concurrent append harmless: it may be synced too.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import LEADER_EPOCHS, encode_epochs
from pykbroker.storage.disk import replace_file

if TYPE_CHECKING:
    from pykbroker.storage.log.log import Log


#: Plans may be made and ended in several threads at once. Never held while the disk is waited for.
_planning = threading.Lock()


class FlushPlan:
    """One flush of a log up to ``end_offset``: ``run`` then ``finish``.

    It syncs too what older plans, still at work, have taken upon them: when it has ended, nothing before ``end_offset``
    depends on theirs.
    """

    __slots__ = ("_file", "_log", "_stable_offset", "end_offset", "epochs", "paths")

    def __init__(self, log: Log) -> None:
        with _planning:
            self._log = log
            self._stable_offset = log.first_unstable_offset
            self.end_offset = log.log_end_offset
            self._file = log.active.log
            taken, log.unsynced = log.unsynced, []
            self.paths: list[str] = [path for plan in log.flushes for path in plan.paths] + taken
            changed, log.epochs.changed = log.epochs.changed, False
            changed = changed or any(plan.epochs is not None for plan in log.flushes)
            self.epochs: list[tuple[int, int]] | None = log.epochs.entries() if changed else None
            log.flushes = [*log.flushes, self]

    def run(self) -> None:
        """Sync; waits for the disk. Raises KAFKA_STORAGE_ERROR. The directory is offline then, since what a failed sync
        left on the disk cannot be known, but for a full disk that does not take the epochs.
        """
        log = self._log
        refusal = log.directory.failed
        try:
            self._sync_files()
            refusal = log.directory.refused
            self._write_epochs()
        except OSError as error:
            if log.deleted:
                return
            with _planning:
                log.unsynced = self.paths + log.unsynced
                log.epochs.changed = log.epochs.changed or self.epochs is not None
            raise refusal(error, f"flushing {log.name}") from error
        finally:
            with _planning:
                log.flushes = [plan for plan in log.flushes if plan is not self]

    def _sync_files(self) -> None:
        log, disk = self._log, self._log.directory.disk
        try:
            self._file.sync()
        except FileNotFoundError:
            # No longer the active segment, and deleted meanwhile by retention: then nobody needs it on the disk.
            if any(segment.log is self._file for segment in log.segments):
                raise
        for path in self.paths:
            with contextlib.suppress(FileNotFoundError):
                if path == log.path:
                    disk.sync_directory(log.directory.path)
                else:
                    disk.open(path).sync()
        if self.paths and self.epochs is None:
            disk.sync_directory(log.path)

    def _write_epochs(self) -> None:
        """Replace leader-epoch-checkpoint, which syncs the log's directory too."""
        if self.epochs is not None:
            log = self._log
            with log.epochs_lock:
                if not log.deleted:
                    replace_file(log.directory.disk, f"{log.path}/{LEADER_EPOCHS}", encode_epochs(self.epochs))

    def finish(self) -> None:
        """Note that the data is on the disk."""
        self._log.mark_flushed(self.end_offset, self._stable_offset)


def end_flushes(log: Log) -> None:
    """Mark a log as deleted: from now on no flush, begun or not, writes a file in a directory of its name."""
    log.deleted = True
    if log.flushes:
        with log.epochs_lock:  # one may be at it
            pass
