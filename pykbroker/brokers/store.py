"""The store of a broker: its log directories and the partitions in them.

Brokers of one process on the same log directories share a store, since there is one copy of the data.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pykbroker.brokers.partition_table import PartitionTable
from pykbroker.partitions.dormant_logs import DormantLogs
from pykbroker.storage.log.old_formats import OldFormatError
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.brokers.replica_manager import ReplicaManager
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.log_moves import LogMoves
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Work
    from pykbroker.storage.directories.manager import LogManager

log = logging.getLogger(__name__)

#: The weight of a partition that ends (``runtime/slices.py``).
_WEIGHT = 0.8


class Store:
    """See the module. ``node_id`` is the broker whose replicas it holds; None holds one copy of all partitions."""

    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        metadata: MetadataSource,
        runtime: Runtime,
        node_id: int | None = None,
        replication: ReplicaManager | None = None,
    ) -> None:
        self.logs = logs
        self.replication = replication
        #: Whether it may be used again after its broker has stopped.
        self.usable = True
        #: The broker's epoch before it stopped cleanly, for its next registration (KIP-966); -1 if it did not.
        self.previous_epoch = -1 if replication is None else logs.previous_epoch
        self.dormant = DormantLogs(runtime, logs.directories)
        self.table = PartitionTable(config, logs, metadata, runtime, self.dormant, node_id, replication)
        #: The number of logs recovered after an unclean shutdown, and the seconds that took.
        self.recovered, self.recovery_s = 0, 0.0
        self._runtime = runtime
        self._config, self._metadata = config, metadata
        self._node_id = config.node_id if node_id is None else node_id
        self._by_name, self._by_id = self.table.by_name, self.table.by_id
        self._log_moves: LogMoves | None = None

    def begin(self) -> None:
        """Take up what the log directories hold. Raises KafkaError KAFKA_STORAGE_ERROR."""
        self.logs.directories.put_strays_aside({key: each.topic_id for key, each in self._by_name.items()})
        for partition in [each for key, each in self._by_name.items() if key in self.logs.logs]:  # recovered before
            _ = partition.log
            self.recovered += 1
        self.dormant.partitions.update(self._by_name[key] for key in self.logs.unopened(self._by_name))
        if not self.logs.clean:
            self._recover()

    def _recover(self) -> None:
        """After an unclean shutdown: open, and thereby recover, every log that was not closed cleanly, so that no client
        waits for that later.
        """
        started, found = self._runtime.clock.monotonic(), len(self.dormant.partitions)
        for partition in sorted(self.dormant.partitions, key=lambda each: (each.topic, each.index)):
            if self.logs.needs_recovery((partition.topic, partition.index)):
                try:
                    _ = partition.log
                    self.recovered += 1
                except OldFormatError as error:
                    log.error("The log of %s-%d cannot be opened: %s", partition.topic, partition.index, error)
        if found:
            self.recovery_s = self._runtime.clock.monotonic() - started
            log.info(
                "Recovered %d of %d logs after an unclean shutdown in %.1f s", self.recovered, found, self.recovery_s
            )

    def shutdown(self, apply: Callable[..., Iterable[Any]] = map) -> None:
        """Close the logs and leave the marker of a clean shutdown; ``apply`` may be a thread pool's map."""
        self.table.finish()
        self.logs.shutdown(apply)

    def end_abruptly(self) -> Work[None]:
        """End as a crash does, without closing a log; who opens the log directories next recovers them, which waits for the end of this. From the
        first step on nobody finds the store.
        """
        self.usable = False
        if self.replication is not None:
            self.replication.cease()
        self.table.end()
        for partition in list(self._by_name.values()):
            partition.take_role()
            partition.mark_deleted(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            yield _WEIGHT
        yield from self.logs.forget_opened()
        return None

    @property
    def log_moves(self) -> LogMoves:
        """Moves between log directories, created on first use."""
        if self._log_moves is None:
            from pykbroker.partitions.log_moves import LogMoves

            self._log_moves = LogMoves(self._runtime, self.logs, self._config, self._limit_of_moves)
        return self._log_moves

    def _limit_of_moves(self) -> float:
        from pykbroker.brokers.replication_throttles import limit_at_run_time

        return limit_at_run_time(self._metadata.image, self._node_id, "replica.alter.log.dirs.io.max.bytes.per.second")

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition, None if it is not here; whether it exists is for the metadata to say."""
        return self._by_name.get((topic, index))

    def partition_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        """The same by the topic's id."""
        return self._by_id.get((topic_id, index))

    def partitions(self) -> Iterator[Partition]:
        """All partitions that are here, in no particular order."""
        return iter(self._by_name.values())
