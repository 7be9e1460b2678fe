"""What a worker process runs to compact a log: the job on the real disk, at a bounded rate.

A process, not a thread: going through records is Python's work, and a thread would hold up the loop for milliseconds at
a time.
"""

from __future__ import annotations

import threading

from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.compaction.cleaning import CleaningJob, CleaningResult, clean
from pykbroker.storage.disk import RealDisk


def clean_files(job: CleaningJob, bytes_per_second: float, durable: bool = True) -> CleaningResult:
    """Do ``job``, reading and writing at most ``bytes_per_second`` (log.cleaner.io.max.bytes.per.second). Raises OSError."""
    clock = SystemClock()
    started = clock.monotonic()
    moved = 0
    idle = threading.Event()

    def pause(size: int) -> None:
        nonlocal moved
        moved += size
        ahead = moved / bytes_per_second - (clock.monotonic() - started)
        if ahead > 0:
            idle.wait(ahead)

    return clean(job, RealDisk(durable=durable), pause)
