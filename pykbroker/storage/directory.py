"""The log directory as one thing that can fail: after a disk error it is offline until the process starts again.

A failed sync or write leaves unknown what the disk holds; trying again and going on would acknowledge what may be lost
("fsyncgate"). So the first such error takes the directory offline, for reads too, as in Apache Kafka. A full disk is no
such error: the append is taken back and refused, and reads and later appends go on.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from random import Random

from pykbroker.runtime.clock import Clock
from pykbroker.storage.disk import Disk
from pykbroker.storage.names import DELETE, put_aside_as, remove_partition
from pykbroker.wire.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

#: The files of a segment.
SEGMENT_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")

#: Behind the names of files that are about to be removed.
DELETED = ".deleted"
#: Of segments that compaction writes, and of those that are complete and about to replace others.
CLEANED, SWAP = ".cleaned", ".swap"

#: Errors of writes that go on once there is room, and what people call them.
_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota of the broker's user is used up",
    errno.EFBIG: "the file has the greatest size that the system allows",
}
#: However many writes find no room, and though small ones may get through between them, it is told once in so long.
_TOLD_AGAIN_MS = 60_000
#: A file of ours in the directory of a log that was compacted, whatever its policy is by now: gaps between its offsets are no
#: sign of loss. Apache Kafka does not look at it.
COMPACTED = "pykbroker-compacted"
COMPACTED_MARK = b"This log was compacted: gaps between its offsets are no sign of loss.\n"


def mark_compacted(disk: Disk, path: str) -> None:
    """Note that gaps may be in the log in this directory; to be called before there are any. Raises OSError."""
    mark = f"{path}/{COMPACTED}"
    if not disk.exists(mark):
        disk.write(mark, COMPACTED_MARK)


class LogDirectory:
    """Where logs live: a path on a disk, and whether it may still be used."""

    __slots__ = ("_doomed", "_missing", "_told_full_ms", "clock", "disk", "full", "offline", "path", "random")

    def __init__(self, path: str, disk: Disk, clock: Clock, random: Random) -> None:
        self.disk = disk
        self.clock = clock
        self.random = random
        self.path = path
        self.offline = False
        #: The disk took no more data when something was last written.
        self.full = False
        self._told_full_ms = -_TOLD_AGAIN_MS
        #: (due time in monotonic seconds, path without suffix) of renamed segments and directories that are to be removed.
        self._doomed: list[tuple[float, str]] = []
        #: Files that readers did not find, each worth one line in the log.
        self._missing: set[str] = set()

    def refusal(self) -> KafkaError:
        """The error for whatever is asked of an offline directory."""
        return KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"The log directory {self.path} is offline after a disk error."
        )

    def check(self) -> None:
        """Raises KAFKA_STORAGE_ERROR when offline."""
        if self.offline:
            raise self.refusal()

    def failed(self, error: OSError, doing: str) -> KafkaError:
        """Take the directory offline because of ``error``; the error to answer with."""
        if not self.offline:
            self.offline = True
            log.error("Log directory %s goes offline: %s failed: %s", self.path, doing, error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {error.strerror or error}")

    def unread(self, error: OSError, doing: str) -> KafkaError:
        """A reader met ``error``; the error to answer with. A file that is missing says nothing about the disk, and what the
        other files hold is served on.
        """
        if not isinstance(error, FileNotFoundError):
            return self.failed(error, doing)
        if error.filename not in self._missing:
            self._missing.add(error.filename)
            log.error("%s failed: the file %s is missing", doing, error.filename)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {error.strerror or error}")

    def refused(self, error: OSError, doing: str) -> KafkaError:
        """``doing`` failed and was taken back completely; the error to answer with. Only a full disk may go on."""
        if error.errno not in _FULL:
            return self.failed(error, doing)
        why = _FULL[error.errno]
        now_ms = self.clock.now_ms()
        if now_ms >= self._told_full_ms + _TOLD_AGAIN_MS:
            self._told_full_ms = now_ms
            log.error(
                "Log directory %s takes no more data, because %s: %s failed (%s). Reads go on, and writes as soon as there "
                "is room.", self.path, why, doing, error,
            )  # fmt: skip
        self.full = True
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {why} ({error.strerror or error})")

    def succeeded(self) -> None:
        """A write got through."""
        self.full = False

    def remove_later(self, path: str, delay_ms: int) -> None:
        """Have ``path`` removed by ``plan_removals`` when ``delay_ms`` have passed: a directory, or the ``.deleted`` files
        of the segment with that stem.
        """
        self._doomed.append((self.clock.monotonic() + delay_ms / 1000, path))

    @property
    def removals_due(self) -> bool:
        """Whether ``plan_removals`` would remove anything."""
        now = self.clock.monotonic()
        return any(when <= now for when, _ in self._doomed)

    def plan_removals(self) -> Callable[[], None]:
        """What removes all that was left to be removed until now; to be called once, in any thread."""
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
