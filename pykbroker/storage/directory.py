"""The failure state of a log directory: after a disk error it is offline until the process starts again.

After a failed sync or write the content of the disk is unknown; a retry would acknowledge data that may be lost
("fsyncgate"). So the first such error takes the log directory offline, for reads too, as in Apache Kafka. A full disk is
different: the append is taken back and refused, reads and later appends continue.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from pykbroker.storage.names import DELETE, put_aside_as, remove_partition
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import Disk

log = logging.getLogger(__name__)

#: The suffixes of a segment's files.
SEGMENT_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")

#: The suffix of files that are about to be removed.
DELETED = ".deleted"
#: The suffixes of segments that compaction writes, and of complete ones that are about to replace others.
CLEANED, SWAP = ".cleaned", ".swap"

#: Errors of a full disk, with a description.
_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota of the broker's user is used up",
    errno.EFBIG: "the file has the greatest size that the system allows",
}
#: The least time between two log lines about a full disk, in milliseconds: small writes may succeed in between.
_TOLD_AGAIN_MS = 60_000
#: The time without a refused write after which a write that succeeds shows that there is room, in milliseconds.
_ROOM_IS_TOLD_MS = 3000
#: A file in the directory of a log that was ever compacted: gaps between its offsets are no sign of loss. Apache Kafka
#: ignores it.
COMPACTED = "pykbroker-compacted"
COMPACTED_MARK = b"This log was compacted: gaps between its offsets are no sign of loss.\n"


def mark_compacted(disk: Disk, path: str) -> None:
    """Mark the log in this directory as one with gaps, before there are any. Raises OSError."""
    mark = f"{path}/{COMPACTED}"
    if not disk.exists(mark):
        disk.write(mark, COMPACTED_MARK)


class LogDirectory:
    """A log directory: a path on a disk, and whether it is online."""

    __slots__ = (
        *(
            "_doomed",
            "_missing",
            "_refused_ms",
            "_logged_full_ms",
            "_tell_offline",
            "clock",
            "cordoned",
            "disk",
            "full",
            "offline",
            "path",
            "random",
        ),
        "was_full",
    )

    def __init__(self, path: str, disk: Disk, clock: Clock, random: Random) -> None:
        self.disk = disk
        self.clock = clock
        self.random = random
        self.path = path
        self.offline = False
        #: Whether it gets no new replicas (KIP-1066).
        self.cordoned = False
        #: Whether the disk was full at the last write.
        self.full = False
        #: Whether the log has still to say that there is room again; each write that succeeds meanwhile calls ``succeeded``.
        self.was_full = False
        self._refused_ms = 0
        self._logged_full_ms = -_TOLD_AGAIN_MS
        #: (due time in monotonic seconds, path without suffix) of renamed segments and directories that are to be removed.
        self._doomed: list[tuple[float, str]] = []
        self._tell_offline: Callable[[], object] | None = None
        #: Missing files that were logged, one line each.
        self._missing: set[str] = set()

    def refusal(self) -> KafkaError:
        """The error of an offline log directory."""
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"The log directory {self.path} is offline after a disk error."
        )

    def check(self) -> None:
        """Raises KafkaError KAFKA_STORAGE_ERROR if offline."""
        if self.offline:
            raise self.refusal()

    def failed(self, error: OSError, doing: str) -> KafkaError:
        """Take the log directory offline because of ``error``; returns the KafkaError KAFKA_STORAGE_ERROR to raise."""
        if not self.offline:
            self.offline = True
            log.error("Log directory %s goes offline: %s failed: %s", self.path, doing, error)
            if self._tell_offline is not None:
                self._tell_offline()
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {error.strerror or error}")

    def tell_offline(self, tell: Callable[[], object]) -> None:
        """Have ``tell`` called when it goes offline, in whichever thread notices that."""
        self._tell_offline = tell

    def try_again(self) -> None:
        """Its broker starts anew: what failed is tried again."""
        self.offline = self.full = self.was_full = False

    def unread(self, error: OSError, doing: str) -> KafkaError:
        """Handle the ``error`` of a read; returns the KafkaError KAFKA_STORAGE_ERROR to raise. A missing file does not take
        the log directory offline.
        """
        if not isinstance(error, FileNotFoundError):
            return self.failed(error, doing)
        if error.filename not in self._missing:
            self._missing.add(error.filename)
            log.error("%s failed: the file %s is missing", doing, error.filename)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {error.strerror or error}")

    def refused(self, error: OSError, doing: str) -> KafkaError:
        """``doing`` failed and was undone completely; returns the KafkaError KAFKA_STORAGE_ERROR to raise. Any error but a full
        disk takes the log directory offline.
        """
        if error.errno not in _FULL:
            return self.failed(error, doing)
        why = _FULL[error.errno]
        now_ms = self.clock.now_ms()
        if now_ms >= self._logged_full_ms + _TOLD_AGAIN_MS:
            self._logged_full_ms = now_ms
            log.error(
                "Log directory %s takes no more data, because %s: %s failed (%s). Reads go on, and writes as soon as there "
                "is room.", self.path, why, doing, error,
            )  # fmt: skip
        self.full = self.was_full = True
        self._refused_ms = now_ms
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {why} ({error.strerror or error})")

    def succeeded(self) -> None:
        """A write succeeded. The log says so when none was refused for a while: small ones fit in where large ones do not."""
        self.full = False
        if self.clock.now_ms() >= self._refused_ms + _ROOM_IS_TOLD_MS:
            self.was_full = False
            self._logged_full_ms = -_TOLD_AGAIN_MS
            log.warning("Log directory %s takes data again: there is room.", self.path)

    def remove_later(self, path: str, delay_ms: int) -> None:
        """Let ``plan_removals`` remove ``path`` after ``delay_ms``: a directory, or the ``.deleted`` files of the segment
        with that stem.
        """
        self._doomed.append((self.clock.monotonic() + delay_ms / 1000, path))

    @property
    def removals_due(self) -> bool:
        """Whether ``plan_removals`` would remove anything."""
        now = self.clock.monotonic()
        return any(when <= now for when, _ in self._doomed)

    def plan_removals(self) -> Callable[[], None]:
        """The removal of everything whose delay is over: to be called once, in any thread."""
        now = self.clock.monotonic()
        due = [path for when, path in self._doomed if when <= now]
        self._doomed = [entry for entry in self._doomed if entry[0] > now]
        return lambda: self._remove(due)

    def _remove(self, due: list[str]) -> None:
        """Raises KAFKA_STORAGE_ERROR."""
        try:
            for path in due:
                if put_aside_as(path.rpartition("/")[2]) == DELETE:
                    if remove_partition(self.disk, path):
                        log.debug("Removed %s", path)
                else:
                    for suffix in SEGMENT_SUFFIXES:
                        self.disk.remove(f"{path}{suffix}{DELETED}")
        except OSError as error:
            raise self.failed(error, "removing deleted files") from error
