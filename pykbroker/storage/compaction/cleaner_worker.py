"""The compaction of a log in a worker process: the job on the real disk, at a bounded rate.

A thread would hold the GIL while it scans records and stall the loop for milliseconds at a time.
"""

from __future__ import annotations

import threading

from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.compaction.cleaning import CleaningJob, CleaningResult, clean
from pykbroker.storage.real_disk import RealDisk


def clean_files(job: CleaningJob, bytes_per_second: float, *, durable: bool, max_open: int) -> CleaningResult:
    """Do ``job``, reading and writing at most ``bytes_per_second`` (log.cleaner.io.max.bytes.per.second), with at most
    ``max_open`` descriptors. Raises OSError.
    """
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

    return clean(job, RealDisk(durable=durable, max_open=max_open), pause)
