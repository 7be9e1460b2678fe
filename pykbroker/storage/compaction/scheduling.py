"""Selects the compactions of a process, one after the other, and handles their results. Imported with the first round."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pykbroker.storage.compaction.retries import Retries
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.checkpoints import TopicPartition
    from pykbroker.storage.compaction.cleaning import CleaningResult
    from pykbroker.storage.compaction.compaction import CompactionPlan
    from pykbroker.storage.directories.log_directories import LogDirectories
    from pykbroker.storage.log.log import Log

logger = logging.getLogger(__name__)


class Compactions:
    """See the module. ``logs`` are the open ones. Runs in the logs' thread."""

    def __init__(self, directories: LogDirectories, logs: Mapping[TopicPartition, Log], clock: Clock) -> None:
        self._directories = directories
        self._logs = logs
        self._clock = clock
        self._retries = Retries()
        #: log.cleaner.dedupe.buffer.size, for the next plan.
        self.memory_bytes = 128 * 1024**2
        self._report: Callable[[CleaningResult | BaseException], None] | None = None

    @property
    def put_off(self) -> int:
        """The number of logs whose compaction failed and is retried later."""
        return len(self._retries)

    def report_to(self, report: Callable[[CleaningResult | BaseException], None]) -> None:
        """Call ``report`` after each compaction, with its result or its error; for metrics."""
        self._report = report

    def forget(self, log: Log) -> None:
        """Drop the pause of a log that is no longer in use."""
        self._retries.forget(log)

    def compacted(self, some: Iterable[Log]) -> list[tuple[Log, int | None]]:
        """Those of ``some`` logs that are compacted and not paused, each with the offset below which it is clean."""
        now = self._clock.monotonic()
        return [
            (log, self._directories.at(log.directory).cleaner_offsets.get((log.topic, log.partition)))
            for log in some
            if log.config.compact and not log.directory.offline and self._retries.may_try(log, now)
        ]

    def plan(self, now_ms: int, due: Iterable[tuple[Log, int | None]] | None = None) -> CompactionPlan | None:
        """The first compaction of logs that ``compaction.due_logs`` found, of all logs without them; None if none is due. See ``finish``.

        Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        from pykbroker.storage.compaction.compaction import CompactionPlan, cleanable, due_logs

        for log, cleaned in due_logs(self.compacted(self._logs.values()), now_ms) if due is None else due:
            if log.directory.offline or self._logs.get((log.topic, log.partition)) is not log:
                continue
            with self._pausing_on_failure(log):
                found = cleanable(log, cleaned, now_ms)
                if found is not None and found.due:
                    return CompactionPlan(found, now_ms, self.memory_bytes)
        return None

    @contextlib.contextmanager
    def _pausing_on_failure(self, log: Log) -> Iterator[None]:
        """Pause a log whose planning fails, so that it does not keep other logs from compaction. Raises KafkaError
        KAFKA_STORAGE_ERROR if the log directory failed.
        """
        try:
            yield
        except OSError as error:
            raise log.directory.failed(error, f"planning the compaction of {log.name}") from error
        except Exception as error:
            if log.directory.offline:
                raise
            unforeseen = not isinstance(error, KafkaError)
            pause = self._pause(log)
            logger.error(
                "Compaction of %s cannot be planned; retrying in %d s: %s", log.name, pause, error, exc_info=unforeseen
            )

    def finish(self, plan: CompactionPlan, result: CleaningResult | BaseException) -> None:
        """Install the result of ``cleaning.clean(plan.job, disk)``, or handle its error.

        A log whose compaction failed or lacked disk space is paused. Files of the failed one must have been removed
        (``plan.remove_leftovers``). Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        log = plan.log
        if self._report is not None:
            self._report(result)
        if isinstance(result, BaseException):
            if log.pinned_by is plan:
                log.unpin(plan)
                logger.error("Compaction of %s failed; retrying in %d s: %s", log.name, self._pause(log), result)
            return
        end_offset = plan.finish(result)
        if end_offset is None:
            return
        self._directories.at(log.directory).cleaner_offsets[log.topic, log.partition] = end_offset
        if result.complete:
            self._retries.forget(log)
        else:
            pause = self._pause(log)
            logger.warning(
                "Compaction of %s is incomplete for lack of disk space; retrying the rest in %d s", log.name, pause
            )

    def _pause(self, log: Log) -> float:
        """Pause compactions of a log; returns the seconds."""
        return self._retries.failed(log, self._clock.monotonic())
