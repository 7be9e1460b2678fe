"""Logs that are closed since the start and opened on first use; a thread reads their files."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.directories.log_directories import LogDirectories

log = logging.getLogger(__name__)

#: Logs opened in one turn of the loop; a request may name ten thousand.
_OPENED_AT_ONCE = 16


class DormantLogs:
    """The partitions whose logs are closed; opens them without stalling the loop."""

    def __init__(self, runtime: Runtime, directories: LogDirectories) -> None:
        self._runtime = runtime
        self._directories = directories
        self.partitions: set[Partition] = set()
        #: Partitions that were created since the start and whose logs have not been opened: nothing was written to them.
        self.new: set[Partition] = set()

    def open(self, partitions: Collection[Partition]) -> Deferred[None]:
        """Open these logs, some in each turn. A thread reads the files first, so that the loop does not wait for the
        disk. A log that cannot be opened is no longer dormant: its next user gets the error.
        """
        ready: Deferred[None] = Deferred()
        self._read_some(list(partitions), ready)
        return ready

    def _read_some(self, rest: list[Partition], ready: Deferred[None]) -> None:
        some, rest = rest[:_OPENED_AT_ONCE], rest[_OPENED_AT_ONCE:]
        if not some:
            ready.complete(None)
            return
        names = [f"{partition.topic}-{partition.index}" for partition in some]
        read = attempt(self._runtime.offload_read, self._directories.warm, names).settled()
        read.map(partial(self._open_some, some, rest, ready)).pass_failure_to(ready)

    def _open_some(self, some: list[Partition], rest: list[Partition], ready: Deferred[None], _read: None) -> None:
        for partition in some:
            self.partitions.discard(partition)
            if not partition.deleted:
                try:
                    _ = partition.log
                except KafkaError as error:
                    log.error("The log of %s-%d cannot be opened: %s", partition.topic, partition.index, error)
                except Exception:
                    log.exception("The log of %s-%d cannot be opened", partition.topic, partition.index)
        self._read_some(rest, ready)

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
