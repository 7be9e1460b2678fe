"""Reads the files of a log ahead, so that the loop can open it without waiting for the disk.

Opening changes files, so the loop does it; a thread reads them before, which only fills the page cache.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pykbroker.storage.index.segment_indexes import SegmentIndexes
from pykbroker.storage.log.segment import Segment
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk
    from pykbroker.storage.log.log import Log


def warm(disk: Disk, path: str) -> None:
    """Read what opening the log in this directory reads after a clean shutdown: small files, the first bytes of the first
    segment, and the end of the last. Errors are left to the opening.
    """
    with contextlib.suppress(OSError, KafkaError):
        _warm_log(disk, path)


def _warm_log(disk: Disk, path: str) -> None:
    names = sorted(disk.list(path))
    snapshots = [name for name in names if name.endswith(".snapshot")]
    for name in snapshots[-1:] + [name for name in names if name[0] not in "0123456789"]:
        disk.read(f"{path}/{name}")
    bases = [name.removesuffix(".log") for name in names if name.endswith(".log")]
    if bases:
        first = Segment(disk, path, int(bases[0]))
        first.refuse_old_format()
        first.close()
        _warm_end(Segment(disk, path, int(bases[-1])))


def _warm_end(segment: Segment) -> None:
    """Read the last entries of the indexes, the first batch, and the batches after the last entry."""
    indexes = SegmentIndexes(segment.disk, segment.path(".index"), segment.path(".timeindex"), segment.base_offset)
    whole = indexes.load(segment.size)
    segment.first_batch_timestamp()
    last = indexes.by_offset.last if whole else None
    for _ in segment.batches(last[1] if last else 0):
        pass
    indexes.close()
    segment.close()


#: The largest log, in bytes, that is checked for being in memory; a larger one is always read ahead.
_LOOKED_AT_BYTES = 8 * 1024 * 1024


def in_memory(log: Log) -> bool:
    """Whether all of a log can be read without waiting for the disk. Errors are left to the reading."""
    if not all(segment.size_known for segment in log.segments) or log.size_bytes > _LOOKED_AT_BYTES:
        return False
    try:
        return all(
            segment.log.pread_cached(segment.size, 0) is not None for segment in log.segments if segment.size > 0
        )
    except OSError:
        return True


def read_ahead(log: Log) -> None:
    """Read all of a log, in a thread, so that the loop finds it in memory. Errors are left to the loop."""
    with contextlib.suppress(OSError, KafkaError):
        for _ in log.batches():
            pass


def directory_bytes(disk: Disk, path: str) -> int:
    """Bytes of the segments in a log's directory, 0 if there is none. Waits for the disk."""
    total = 0
    with contextlib.suppress(FileNotFoundError):
        for name in disk.list(path):
            if name.endswith(".log"):
                with contextlib.suppress(FileNotFoundError):
                    total += disk.size(f"{path}/{name}")
    return total
