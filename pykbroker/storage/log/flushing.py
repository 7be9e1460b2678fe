"""Flushes of a log: planned by the loop, run in any thread, noted by the loop.

Appends continue meanwhile and are part of the next plan. So all requests that wait share one sync.
"""

from __future__ import annotations

import contextlib

from pykbroker.storage.checkpoints import LEADER_EPOCHS, encode_epochs, replace_file
from pykbroker.storage.log.state import LogState


class FlushPlan:
    """One flush of a log's present content: ``run``, then ``finish``."""

    __slots__ = ("_log", "work")

    def __init__(self, log: LogState) -> None:
        self._log = log
        self.work = log.begin_flush()

    def run(self) -> None:
        """Sync; waits for the disk. Raises KafkaError KAFKA_STORAGE_ERROR: the log directory is then offline, since the
        outcome of a failed sync is unknown, unless only the epochs found the disk full.
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
            log.give_back(self.work)
            raise refusal(error, f"flushing {log.name}") from error
        except BaseException:
            log.give_back(self.work)
            raise
        finally:
            log.end_flush(self.work)

    def _sync_files(self) -> None:
        log, work, disk = self._log, self.work, self._log.directory.disk
        try:
            work.active.sync()
        except FileNotFoundError:
            # Retention has deleted the segment, which is no longer active: it needs no sync.
            if any(segment.log is work.active for segment in log.segments):
                raise
        for path in work.paths:
            with contextlib.suppress(FileNotFoundError):
                if path == log.path:
                    disk.sync_directory(log.directory.path)
                else:
                    disk.open(path).sync()
        if work.paths and work.epochs is None:
            disk.sync_directory(log.path)

    def _write_epochs(self) -> None:
        """Replace leader-epoch-checkpoint, which syncs the log's directory too."""
        epochs = self.work.epochs
        if epochs is not None:
            log = self._log
            with log.epochs_lock:
                if not log.deleted:
                    replace_file(log.directory.disk, f"{log.path}/{LEADER_EPOCHS}", encode_epochs(epochs))

    def finish(self) -> None:
        """Note that the data is synced."""
        self._log.mark_flushed(self.work.end_offset, self.work.stable_offset)


def flush(log: LogState) -> None:
    """Plan, run and finish a flush if anything is unsynced. Raises what ``FlushPlan.run`` raises."""
    if log.unflushed:
        plan = FlushPlan(log)
        plan.run()
        plan.finish()


def end_flushes(log: LogState) -> None:
    """Mark a log as deleted: from now on no flush, under way or not, writes a file to a directory of its name."""
    log.mark_deleted()
    if log.flushes:
        with log.epochs_lock:  # another flush may be writing it
            pass
