"""Moves of partitions between log directories (AlterReplicaLogDirs), one at a time for each partition."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.replication.throttling import ReplicationQuota
from pykbroker.runtime.rates import Windows
from pykbroker.runtime.waits import attempt
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.directories.contents import DirectoryContents
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.directories.moving import LogMove

log = logging.getLogger(__name__)

#: The interval, in milliseconds, at which a move checks whether a compaction of the log has ended.
_PAUSE_MS = 100


class LogMoves:
    """The wanted log directories and the moves to them. Threads copy; the last step runs on the loop and waits for the disk.

    ``limit`` says how many bytes a second all moves together may copy now (``replica.alter.log.dirs.io.max.bytes.per.second``): above it
    they rest for ``replica.fetch.backoff.ms``, and below it a piece is copied at a time.
    """

    def __init__(self, runtime: Runtime, logs: LogManager, config: BrokerConfig, limit: Callable[[], float]) -> None:
        self._runtime = runtime
        self._logs = logs
        self._limit = limit
        self._backoff_ms: int = config["replica.fetch.backoff.ms"]
        self._piece: int = config["replica.fetch.max.bytes"]
        windows = Windows(
            config["alter.log.dirs.replication.quota.window.num"],
            config["alter.log.dirs.replication.quota.window.size.seconds"] * 1000,
        )
        self._quota = ReplicationQuota(windows, self._now_ms())
        self._wanted: dict[Partition, DirectoryContents] = {}

    def _now_ms(self) -> int:
        return int(self._runtime.clock.monotonic() * 1000)

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
        quota, before = self._quota, move.size
        quota.limit = self._limit()
        if quota.is_exceeded(self._now_ms()):
            self._runtime.timers.after(self._backoff_ms, partial(self._go_on, partition, move))
            return
        piece = partial(move.copy, math.inf if quota.limit == math.inf else self._piece)

        def over(_: None) -> None:
            quota.record(move.size - before, self._now_ms())
            self._go_on(partition, move)

        copied = attempt(self._runtime.offload, piece).map(over)
        copied.recover(Exception, partial(self._failed, partition, move)).or_log("moving %r", partition)

    def _go_on(self, partition: Partition, move: LogMove) -> None:
        if not move.wanted or self._wanted[partition] is not move.target:
            self._give_up(move)
            self._begin(partition)
        elif move.nearly_complete:
            before = move.size
            self._logs.finish_move(move)
            self._quota.record(move.size - before, self._now_ms())
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
