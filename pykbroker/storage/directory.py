"""The data directory as one thing that can fail: after a disk error it is offline until the process starts again.

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
from pykbroker.wire.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

#: The files of a segment.
SEGMENT_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")

#: Behind the names of files that are about to be removed.
DELETED = ".deleted"
#: Of segments that compaction writes, and of those that are complete and about to replace others.
CLEANED, SWAP = ".cleaned", ".swap"

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class LogDirectory:
    """Where logs live: a path on a disk, and whether it may still be used."""

    __slots__ = ("_doomed", "clock", "disk", "full", "offline", "path", "random")

    def __init__(self, path: str, disk: Disk, clock: Clock, random: Random) -> None:
        self.disk = disk
        self.clock = clock
        self.random = random
        self.path = path
        self.offline = False
        #: The disk took no more data when something was last written.
        self.full = False
        #: (due time in milliseconds, path without suffix) of renamed segments and directories that are to be removed.
        self._doomed: list[tuple[int, str]] = []

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

    def refused(self, error: OSError, doing: str) -> KafkaError:
        """``doing`` failed and was taken back completely; the error to answer with. Only a full disk may go on."""
        if error.errno not in _FULL:
            return self.failed(error, doing)
        if not self.full:
            self.full = True
            log.error("Log directory %s takes no more data: %s failed: %s. Reads go on.", self.path, doing, error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed: {error.strerror or error}")

    def succeeded(self) -> None:
        """A write got through: the next full disk is worth a line in the log again."""
        self.full = False

    def remove_later(self, path: str, delay_ms: int) -> None:
        """Have ``path`` removed by ``plan_removals`` when ``delay_ms`` have passed: a directory, or the ``.deleted`` files
        of the segment with that stem.
        """
        self._doomed.append((self.clock.now_ms() + delay_ms, path))

    def plan_removals(self, now_ms: int) -> Callable[[], None]:
        """What removes all that was left to be removed until now; to be called once, in any thread."""
        due = [path for when, path in self._doomed if when <= now_ms]
        self._doomed = [entry for entry in self._doomed if entry[0] > now_ms]
        return lambda: self._remove(due)

    def _remove(self, due: list[str]) -> None:
        """Raises KAFKA_STORAGE_ERROR."""
        try:
            for path in due:
                if path.endswith("-delete"):
                    self.disk.remove_tree(path)
                else:
                    for suffix in SEGMENT_SUFFIXES:
                        self.disk.remove(f"{path}{suffix}{DELETED}")
        except OSError as error:
            raise self.failed(error, "removing deleted files") from error
