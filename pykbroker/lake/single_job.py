"""Only one process at a time archives to a lake, compacts it or decodes a topic of it.

The lock is the operating system's (flock), which releases it when the process ends, however it ends. It covers lakes on this machine's
file systems. Of a lake on HDFS or in an object store, the tables themselves take a batch once, however many processes write it:
Parquet by its commit file, Delta Lake by its transaction identifier, Iceberg by its write-audit-publish id.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from pykbroker.lake.errors import LakeError
from pykbroker.lake.requirements import local_path


@contextmanager
def only_job(lake: str, what: str) -> Iterator[None]:
    """Holds the lock for ``what`` on the lake; does nothing for a lake elsewhere. Raises LakeError if another process holds it or the lake's
    folder cannot be written to.
    """
    folder = local_path(lake)
    if folder is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / f".{what}.lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
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
            f"Process {holder or '(unknown)'} is at this for the lake {lake} already ({what}); wait until it has ended, or stop it."
        ) from None
    except OSError as error:
        raise LakeError(f"The lake {lake} cannot be locked: {error.strerror}.") from None
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
