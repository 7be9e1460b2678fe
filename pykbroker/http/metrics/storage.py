"""Metrics of log directories, compaction, and log recovery at the start."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pykbroker.http.metrics.metric import counter, gauge

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.process.life import Life
    from pykbroker.storage.compaction.cleaning import CleaningResult
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.directory import LogDirectory
    from pykbroker.storage.log.log import Log

OFFLINE_COUNT = gauge(
    "kafka_log_logmanager_offlinelogdirectorycount",
    "Log directories that are offline after a disk error.",
    moves="More than 0: the log says which error. Mend the disk and start anew; docs/durability.md says what is safe.",
)
OFFLINE = gauge(
    "kafka_log_logmanager_logdirectoryoffline",
    "1 if the log directory is offline.",
    "logDirectory",
    moves="As kafka_log_logmanager_offlinelogdirectorycount.",
)
TOTAL_BYTES = gauge(
    "pykbroker_log_directory_total_bytes",
    "The size of a log directory's volume.",
    "logDirectory",
    moves="Somebody gave it another volume: see that it is the one that was meant.",
)
FREE_BYTES = gauge(
    "pykbroker_log_directory_free_bytes",
    "Free bytes on a log directory's volume.",
    "logDirectory",
    moves="Below a fifth of the volume: lower retention, or give it room. Compaction takes no more than half of what is free.",
)
FULL = gauge(
    "pykbroker_log_directory_full",
    "1 if the last write found no space.",
    "logDirectory",
    moves="1: producers are refused until there is room; what was acknowledged is safe.",
)
LOGS_OPEN = gauge(
    "pykbroker_logs_open",
    "Open logs.",
    moves="Each costs memory and descriptors: delete unused topics, or raise LimitNOFILE.",
)
LOGS_CLOSED = gauge(
    "pykbroker_logs_closed",
    "Logs that are closed since the start; they are opened in the background.",
    moves="It falls to 0 after a start; until then offsets and sizes of these partitions are missing here.",
)
RECOVERED = gauge(
    "pykbroker_recovered_logs",
    "Logs recovered at the start: 0 after a clean shutdown.",
    moves="More than 0: the last process was killed, or the machine failed.",
)
RECOVERY_SECONDS = gauge(
    "pykbroker_recovery_seconds", "Duration of that recovery.", moves="As pykbroker_recovered_logs."
)
COMPACTIONS = counter(
    "pykbroker_compactions_total",
    "Completed compactions of a log.",
    moves="None for hours, while dirty_bytes grows: the cleaner is off or fails.",
)
COMPACTIONS_FAILED = counter(
    "pykbroker_compactions_failed_total",
    "Failed compactions, which are retried.",
    moves="The log says why: a full disk, a process that was killed for want of memory.",
)
COMPACTIONS_PUT_OFF = gauge(
    "kafka_log_logcleanermanager_uncleanable_partitions_count",
    "Logs whose compaction failed and will be retried.",
    moves="As pykbroker_compactions_failed_total.",
)
COMPACTED_READ = counter(
    "pykbroker_compaction_read_bytes_total",
    "Bytes that compactions read.",
    moves="Many times what producers write: raise min.cleanable.dirty.ratio, or segment.bytes.",
)
COMPACTED_WRITTEN = counter(
    "pykbroker_compaction_written_bytes_total",
    "Bytes that compactions wrote: of what they read, so much was left.",
    moves="Near what they read: keys hardly repeat, and compaction gains little.",
)
DIRTY_BYTES = gauge(
    "pykbroker_compaction_dirty_bytes",
    "Bytes of closed segments of compacted topics that are not compacted yet.",
    moves="Grows for hours: the cleaner is off, fails, or is slower than what comes in.",
)
DIRTY_PERCENT = gauge(
    "kafka_log_logcleanermanager_max_dirty_percent",
    "The largest such share in one log's closed segments.",
    moves="Above min.cleanable.dirty.ratio for long: as pykbroker_compaction_dirty_bytes.",
)

_IN_A_STEP = 50


class StorageCollector:
    """See the module."""

    def __init__(self) -> None:
        self._done = self._failed = self._read = self._written = 0

    def follow(self, life: Life) -> None:
        """Count the compactions of this cluster from now on."""
        for store in life.cluster.stores():
            store.logs.compactions.report_to(self._compacted)

    def _compacted(self, result: CleaningResult | BaseException) -> None:
        if isinstance(result, BaseException):
            self._failed += 1
            return
        self._done += 1
        self._read += result.bytes_read
        self._written += result.bytes_written

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        stores = cluster.stores()
        directories = [contents.directory for store in stores for contents in store.logs.directories]
        page.add(OFFLINE_COUNT, sum(directory.offline for directory in directories))
        for directory in directories:
            page.add(OFFLINE, int(directory.offline), directory.path)
            page.add(FULL, int(directory.full), directory.path)
            yield None
        page.add(LOGS_OPEN, sum(len(store.logs.logs) for store in stores))
        page.add(LOGS_CLOSED, sum(len(store.dormant.partitions) for store in stores))
        page.add(RECOVERED, sum(store.recovered for store in stores))
        page.add(RECOVERY_SECONDS, sum(store.recovery_s for store in stores))
        page.add(COMPACTIONS, self._done)
        page.add(COMPACTIONS_FAILED, self._failed)
        page.add(COMPACTIONS_PUT_OFF, sum(store.logs.compactions.put_off for store in stores))
        page.add(COMPACTED_READ, self._read)
        page.add(COMPACTED_WRITTEN, self._written)
        yield None
        for directory in directories:
            _space(directory, page)
            yield None
        yield from _dirty([store.logs for store in stores], page)


def _space(directory: LogDirectory, page: Page) -> None:
    """Add the size of a volume. Errors are left to reads and writes, which handle them."""
    try:
        total, free = directory.disk.free_bytes(directory.path)
    except OSError:
        return
    page.add(TOTAL_BYTES, total, directory.path)
    page.add(FREE_BYTES, free, directory.path)


def _dirty(managers: Sequence[LogManager], page: Page) -> Steps:
    total, most = 0, 0.0
    every = [(logs, log) for logs in managers for log in logs.logs.values()]
    for number, (logs, log) in enumerate(every):
        if log.config.compact and not log.directory.offline and logs.is_open(log):
            cleaned = logs.directories.at(log.directory).cleaner_offsets.get((log.topic, log.partition), 0)
            dirty, closed = yield from dirty_bytes(log, cleaned)
            total += dirty
            most = max(most, dirty / closed if closed else 0.0)
        if not number % _IN_A_STEP:
            yield None
    page.add(DIRTY_BYTES, total)
    page.add(DIRTY_PERCENT, round(100 * most))


def dirty_bytes(log: Log, cleaned_to: int) -> Generator[None, None, tuple[int, int]]:
    """The bytes of a log's closed segments that were not compacted yet, and of all, in steps of some segments."""
    dirty = closed = 0
    for number, (segment, following) in enumerate(pairwise(tuple(log.segments))):
        if number % _IN_A_STEP == _IN_A_STEP - 1:
            yield None
        closed += segment.size
        if following.base_offset > cleaned_to:
            dirty += segment.size
    return dirty, closed
