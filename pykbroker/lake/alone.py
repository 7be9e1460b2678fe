"""One archive of a lake at a time, one compaction, one decoding of a topic: two would both take the same batch.

The system holds the lock and lets it go with the process, however that ends. It knows this machine alone: of a lake on HDFS or in an
object store nobody is told.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from pykbroker.lake.needs import local_path
from pykbroker.lake.trouble import LakeError


@contextmanager
def alone(lake: str, what: str) -> Iterator[None]:
    """Until its end no other process is in this for the same lake. Raises LakeError where one is, or where nothing can be written."""
    folder = local_path(lake)
    if folder is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / f".{what}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise LakeError(f"Nothing can be written to the lake {lake}: {error.strerror}.") from None
    try:
        _take(lock, lake, what)
        yield
    finally:
        os.close(lock)


def _take(lock: int, lake: str, what: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 20).decode(errors="replace")
        raise LakeError(
            f"Process {holder} is at this for the lake {lake} already ({what}); wait until it has ended, or stop it."
        ) from None
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
