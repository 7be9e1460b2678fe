"""Moving a log from one directory to another while it is served (KIP-113).

Files are copied to ``<topic>-<partition>.<32 hex digits>-future`` in the new log directory until the copy is nearly complete;
then, between two appends, the rest is copied and the directories are renamed. A kill leaves the old log, or both, which are
equal then.
"""

from __future__ import annotations

import contextlib
import errno
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import LEADER_EPOCHS, PARTITION_METADATA
from pykbroker.storage.directory import COMPACTED
from pykbroker.storage.log.snapshots import snapshot_path
from pykbroker.storage.log.trimming import close
from pykbroker.storage.names import FUTURE, renamed

if TYPE_CHECKING:
    from pykbroker.storage.directories.contents import DirectoryContents
    from pykbroker.storage.log.log import Log
    from pykbroker.storage.log.segment import Segment

_CHUNK_BYTES = 1024 * 1024
#: Bytes that are copied while the log waits.
_REST_BYTES = 1024 * 1024


class LogMove:
    """One move: ``copy`` in any thread until ``nearly_complete``, then ``LogManager.finish_move`` in the owner's thread.

    Meanwhile neither retention nor compaction removes segments. Methods raise OSError.
    """

    def __init__(self, log: Log, target: DirectoryContents) -> None:
        self.log = log
        self.target = target
        self.path = f"{target.path}/{renamed(log.name, target.directory.random.getrandbits(128), FUTURE)}"
        #: Bytes of each file in the copy.
        self._copied: dict[str, int] = {}
        #: Bytes copied so far, and how many more the present call may copy.
        self.size = 0
        self._left = math.inf
        #: Base offsets of the closed segments that are copied completely.
        self._complete: set[int] = set()
        log.pin(self)

    @property
    def wanted(self) -> bool:
        """Whether the log exists and the move was not cancelled."""
        return self.log.pinned_by is self

    @property
    def nearly_complete(self) -> bool:
        """Whether the rest is small enough to be copied between two appends."""
        *closed, active = self.log.segments
        behind = active.size - self._copied.get(active.log.path, 0)
        return behind <= _REST_BYTES and all(segment.base_offset in self._complete for segment in closed)

    def copy(self, most: float = math.inf) -> None:
        """Copy the closed segments and the present batches of the active one, but at most ``most`` bytes, and sync the copy."""
        self._left = most
        self.target.directory.disk.make_directory(self.path)
        *closed, active = self.log.segments
        self._copy_segments(closed)
        self._copy(active.log.path, active.size)

    def complete(self) -> None:
        """Close the log and copy the rest. Raises KafkaError KAFKA_STORAGE_ERROR, too."""
        log, disk, self._left = self.log, self.target.directory.disk, math.inf
        close(log)
        self._copy_segments(log.segments)
        others = [f"{log.path}/{name}" for name in (PARTITION_METADATA, LEADER_EPOCHS, COMPACTED)]
        for path in others + [snapshot_path(log, offset) for offset in log.snapshots]:
            if disk.exists(path):
                self._copy(path, disk.size(path))
        disk.sync_directory(self.path)

    def install(self) -> None:
        """Rename the copy to the log's name. Raises KafkaError KAFKA_STORAGE_ERROR if the outcome is unknown: the log directory is
        offline then.
        """
        disk = self.target.directory.disk
        disk.rename(self.path, f"{self.target.path}/{self.log.name}")
        try:
            disk.sync_directory(self.target.path)
        except OSError as error:
            raise self.target.directory.failed(error, f"moving {self.log.name}") from error

    def give_up(self) -> None:
        """The log stays where it is."""
        self.log.unpin(self)

    def remove_copy(self) -> None:
        """Remove the copy; in any thread."""
        with contextlib.suppress(OSError):
            self.target.directory.disk.remove_tree(self.path)

    def _copy_segments(self, closed: Iterable[Segment]) -> None:
        disk = self.target.directory.disk
        for segment in closed:
            if segment.base_offset not in self._complete:
                for path in segment.paths():
                    if disk.exists(path) and not self._copy(path, disk.size(path)):
                        return
                self._complete.add(segment.base_offset)

    def _copy(self, path: str, end: int) -> bool:
        """Bring the copy of a file up to ``end``, as far as it may be now; whether it is there."""
        disk = self.target.directory.disk
        new = f"{self.path}/{path.rpartition('/')[2]}"
        position = self._copied.get(path)
        if position is None:
            disk.create(new)
            position = 0
        source, copy = disk.open(path), disk.open(new)
        while position < end and self._left > 0:
            data = source.pread(int(min(_CHUNK_BYTES, end - position, self._left)), position)
            if not data:
                raise OSError(errno.EIO, f"the file ends at {position}, before {end}", path)
            copy.pwrite(data, position)
            position += len(data)
            self.size += len(data)
            self._left -= len(data)
        copy.sync()
        source.close()
        copy.close()
        self._copied[path] = position
        return position >= end
