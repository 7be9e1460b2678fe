"""Moves of partitions between log directories (AlterReplicaLogDirs), one at a time for each partition."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import attempt
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.directories.contents import DirectoryContents
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.directories.moving import LogMove

log = logging.getLogger(__name__)

#: The interval, in milliseconds, at which a move checks whether a compaction of the log has ended.
_PAUSE_MS = 100


class LogMoves:
    """The wanted log directories and the moves to them. Threads copy; the last step runs on the loop and waits for the disk."""

    def __init__(self, runtime: Runtime, logs: LogManager) -> None:
        self._runtime = runtime
        self._logs = logs
        self._wanted: dict[Partition, DirectoryContents] = {}

    def under_way(self, partition: Partition) -> bool:
        """Whether a move of the partition has not ended yet."""
        return partition in self._wanted

    def want(self, partition: Partition, contents: DirectoryContents) -> None:
        """Move the partition to this log directory, instead of any wanted before."""
        under_way = partition in self._wanted
        self._wanted[partition] = contents
        if not under_way:
            self._begin(partition)

    def _begin(self, partition: Partition) -> None:
        contents = self._wanted[partition]
        try:
            there = partition.deleted or partition.log.directory is contents.directory
        except KafkaError as error:
            log.error("%r cannot be moved to %s: %s", partition, contents.path, error)
            there = True
        if there:
            del self._wanted[partition]
        elif partition.log.pinned_by is not None:
            self._runtime.timers.after(_PAUSE_MS, partial(self._begin, partition))
        else:
            from pykbroker.storage.directories.moving import LogMove

            self._copy(partition, LogMove(partition.log, contents))

    def _copy(self, partition: Partition, move: LogMove) -> None:
        copied = attempt(self._runtime.offload, move.copy).map(lambda _: self._copied(partition, move))
        copied.recover(Exception, partial(self._failed, partition, move)).or_log("moving %r", partition)

    def _copied(self, partition: Partition, move: LogMove) -> None:
        if not move.wanted or self._wanted[partition] is not move.target:
            self._give_up(move)
            self._begin(partition)
        elif move.nearly_complete:
            self._logs.finish_move(move)
            partition.reopen()
            log.info("Moved %s to %s", move.log.name, move.target.path)
            del self._wanted[partition]
        else:
            self._copy(partition, move)

    def _failed(self, partition: Partition, move: LogMove, error: Exception) -> None:
        unexpected = None if isinstance(error, (OSError, KafkaError)) else error
        log.error(
            "%s could not be moved to %s, and stays where it is: %s",
            move.log.name,
            move.target.path,
            error,
            exc_info=unexpected,
        )
        self._wanted.pop(partition, None)
        self._give_up(move)

    def _give_up(self, move: LogMove) -> None:
        move.give_up()
        self._runtime.offload(move.remove_copy).or_log("removing the copy of %s", move.log.name)
