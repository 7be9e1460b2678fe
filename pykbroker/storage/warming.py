"""Reading ahead what the opening of a log reads, so that the loop can open it without waiting for the disk.

Opening changes things (it tidies and repairs), so it belongs to the loop; reading can be done by a thread before, and
leaves nothing but pages in the page cache.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from pykbroker.storage.disk import Disk
from pykbroker.storage.segment import Segment
from pykbroker.storage.segment_indexes import SegmentIndexes


def warm(disk: Disk, paths: Iterable[str]) -> None:
    """Read what a clean start needs of the logs in these directories: small files, and the end of the last segment.

    Errors are left for the opening to find.
    """
    for path in paths:
        with contextlib.suppress(OSError):
            _warm_log(disk, path)


def _warm_log(disk: Disk, path: str) -> None:
    names = sorted(disk.list(path))
    snapshots = [name for name in names if name.endswith(".snapshot")]
    for name in snapshots[-1:] + [name for name in names if name[0] not in "0123456789"]:
        disk.read(f"{path}/{name}")
    bases = [name.removesuffix(".log") for name in names if name.endswith(".log")]
    if bases:
        _warm_end(Segment(disk, path, int(bases[-1])))


def _warm_end(segment: Segment) -> None:
    """The last entries of the indexes, the first batch, and the batches behind the last entry."""
    indexes = SegmentIndexes(segment.disk, segment.path(".index"), segment.path(".timeindex"), segment.base_offset)
    whole = indexes.load(segment.size)
    segment.first_batch_timestamp()
    last = indexes.by_offset.last if whole else None
    for _ in segment.batches(last[1] if last else 0):
        pass
    indexes.close()
    segment.close()


def directory_bytes(disk: Disk, path: str) -> int:
    """Bytes of the segments in a log's directory, 0 where there is none. Waits for the disk."""
    total = 0
    with contextlib.suppress(FileNotFoundError):
        for name in disk.list(path):
            if name.endswith(".log"):
                with contextlib.suppress(FileNotFoundError):
                    total += disk.size(f"{path}/{name}")
    return total
