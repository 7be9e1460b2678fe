"""Logs that are closed since the start and opened on first use; a thread reads their files."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from pykbroker.runtime.slices import WEIGHT_OF_A_TURN
from pykbroker.runtime.waiting_work import carry_out
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waiting_work import WaitingWork
    from pykbroker.storage.directories.log_directories import LogDirectories

log = logging.getLogger(__name__)

#: Logs opened in one turn of the loop, or created; a request may name ten thousand.
OPENED_AT_ONCE = 12


class DormantLogs:
    """The partitions whose logs are closed; opens them without stalling the loop."""

    def __init__(self, runtime: Runtime, directories: LogDirectories) -> None:
        self._runtime = runtime
        self._directories = directories
        self.partitions: set[Partition] = set()
        #: Partitions that were created since the start and whose logs have not been opened: nothing was written to them.
        self.new: set[Partition] = set()

    def closed(self, partitions: Iterable[Partition | None]) -> Collection[Partition]:
        """Those of a request's partitions, in order and each once, whose logs are opened before it is handled. New ones are created with it
        if they are few.
        """
        closed: dict[Partition, None] = {}
        created: dict[Partition, None] = {}
        for partition in partitions:
            if partition is not None and partition in self.partitions:
                closed[partition] = None
            elif partition is not None and partition in self.new:
                created[partition] = None
        return closed | created if len(created) > OPENED_AT_ONCE else closed

    def open(self, partitions: Collection[Partition]) -> Deferred[None]:
        """Open these logs, some in each turn. A thread reads the files first, so that the loop does not wait for the
        disk. A log that cannot be opened is no longer dormant: its next user gets the error.
        """
        wanted = list(partitions)
        opened = self._read_and_open(wanted[:OPENED_AT_ONCE])
        if len(wanted) <= OPENED_AT_ONCE:
            return opened
        return opened.chain(lambda _: carry_out(self._runtime.slices, self._opening(wanted[OPENED_AT_ONCE:])))

    def _opening(self, partitions: Sequence[Partition]) -> WaitingWork[None]:
        for begin in range(0, len(partitions), OPENED_AT_ONCE):
            yield WEIGHT_OF_A_TURN
            yield self._read_and_open(partitions[begin : begin + OPENED_AT_ONCE])

    def _read_and_open(self, partitions: Sequence[Partition]) -> Deferred[None]:
        names = [f"{partition.topic}-{partition.index}" for partition in partitions]
        read = attempt(self._runtime.offload_read, self._directories.warm, names).settled()
        return read.map(lambda _: self._open(partitions))

    def _open(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self.partitions.discard(partition)
            if not partition.deleted:
                try:
                    _ = partition.log
                except KafkaError as error:
                    log.error("The log of %s-%d cannot be opened: %s", partition.topic, partition.index, error)
                except Exception:
                    log.exception("The log of %s-%d cannot be opened", partition.topic, partition.index)

    def bring_into_memory(self, partition: Partition) -> Deferred[None]:
        """Completes when the whole log is in the page cache.

        Never fails: the read that follows meets the error.
        """
        if partition in self.partitions:
            return self.open([partition]).chain(lambda _: self.bring_into_memory(partition))
        try:
            log = partition.log
        except KafkaError:
            return Deferred.completed(None)
        from pykbroker.storage.directories.warming import in_memory, read_ahead

        return Deferred.completed(None) if in_memory(log) else self._runtime.offload_read(read_ahead, log)
