"""One partition as its broker knows it: who leads it, its log, and who waits for it.

In this form of the broker the replicas of a partition are brokers of one process that share one log. What the leader
has appended, all replicas have: it is committed at once, or, where ``flush.messages`` asks to sync before an answer, once
it is synced. Else a reader could see what a loss of power undoes. Only this module knows what a commit waits for: ``append``
says where a batch lies and gives the wait, and ``_advance`` alone moves the high watermark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pykbroker.metadata.image import NO_LEADER
from pykbroker.partitions.group_commit import GroupCommit
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.validate import Origin
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.partitions.host import PartitionHost
    from pykbroker.storage.log.config import LogConfig
    from pykbroker.storage.log.log import AppendResult, Log


class PartitionWatcher(Protocol):
    """Told what happens to a partition: fetch sessions and waiting fetches."""

    def appended(self, partition: Partition, size: int) -> None:
        """So many bytes were appended."""
        ...

    def changed(self, partition: Partition) -> None:
        """Its leader, its log or its existence changed: look again."""
        ...


class Partition:
    """See the module. ``watchers`` is an ordered set: they are told in the order in which they came."""

    __slots__ = (
        "_group_commit",
        "_host",
        "_log",
        "deleted",
        "index",
        "isr",
        "leader",
        "leader_epoch",
        "replicas",
        "topic",
        "topic_id",
        "watchers",
    )

    def __init__(self, host: PartitionHost, topic: str, topic_id: bytes, image: PartitionImage) -> None:
        self._host = host
        self._log: Log | None = None
        self._group_commit: GroupCommit | None = None
        self.topic = topic
        self.topic_id = topic_id
        self.index = image.index
        self.deleted = False
        self.watchers: dict[PartitionWatcher, None] = {}
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.replicas: list[int] = []
        self.isr: list[int] = []
        self.apply(image)

    def __repr__(self) -> str:
        return f"<Partition {self.topic}-{self.index} leader={self.leader} epoch={self.leader_epoch}>"

    # ---- metadata ----------------------------------------------------------------------------------------------------

    def apply(self, image: PartitionImage) -> None:
        """Take over what the metadata log says of this partition."""
        moved = (self.leader, self.leader_epoch) != (image.leader, image.leader_epoch)
        self.leader, self.leader_epoch = image.leader, image.leader_epoch
        self.replicas, self.isr = image.replicas, image.isr
        if moved:
            if self._log is not None:
                self._begin_epoch(self._log)
            self.tell_changed()

    def mark_deleted(self) -> None:
        """The topic is gone: whoever waits looks again and learns it."""
        self.deleted = True
        self.tell_changed()
        self.watchers.clear()

    def tell_changed(self) -> None:
        """Make whoever waits for this partition look again at once."""
        for watcher in list(self.watchers):
            watcher.changed(self)

    def check_served_by(self, node_id: int, epoch: int, *, leader_only: bool = True) -> None:
        """Whether a broker answers for the partition, asked with the leader epoch a client believes in, -1 for none.

        Raises KafkaError, in Kafka's order: NOT_LEADER_OR_FOLLOWER where the broker has no replica, FENCED_LEADER_EPOCH
        or UNKNOWN_LEADER_EPOCH (KIP-320), NOT_LEADER_OR_FOLLOWER where only the leader may answer (KIP-392).
        """
        if node_id != self.leader and node_id not in self.replicas:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if epoch not in (-1, self.leader_epoch):
            raise KafkaError(
                ErrorCode.FENCED_LEADER_EPOCH if epoch < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
        if leader_only and node_id != self.leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_enough_in_sync(self) -> None:
        """Raises KafkaError with NOT_ENOUGH_REPLICAS where acks=all may not be answered: min.insync.replicas, of which a
        topic with fewer replicas needs them all.
        """
        in_sync = len(self.isr)
        if in_sync < self.log.config.min_insync_replicas and in_sync < len(self.replicas):
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{in_sync} of {len(self.replicas)} replicas of {self.topic}-{self.index} are in sync, and "
                f"min.insync.replicas is {self.log.config.min_insync_replicas}",
            )

    # ---- the log -------------------------------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        """The log, opened (and made, where it is new) on first use. Raises KafkaError with KAFKA_STORAGE_ERROR."""
        log = self._log
        if log is None:
            log = self._host.open_log(self)
            if log.needs_flush_before_ack:  # recovered after a kill, not synced yet: not to be read before it is
                log.flush()
            self._begin_epoch(log)
            self._log = log
        return log

    def _begin_epoch(self, log: Log) -> None:
        """A leader's epoch begins where the log ends when it is elected; a closed log has not grown since."""
        if self.leader != NO_LEADER:
            log.begin_epoch(self.leader_epoch)

    @property
    def opened_log(self) -> Log | None:
        """The log if it is open already."""
        return self._log

    def reopen(self) -> None:
        """The log lies elsewhere now. Raises KafkaError with KAFKA_STORAGE_ERROR."""
        self._log = None
        _ = self.log

    def update_config(self, config: LogConfig) -> None:
        """Follow changed settings. What readers saw they see still, and more where that must be synced first."""
        self.log.update_config(config)
        self._advance(self.log)
        if self.log.needs_flush_before_ack:
            self._synced()

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def high_watermark(self) -> int:
        """The end of what is committed, and of what readers may see."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The end of what readers of committed records may see."""
        return self.log.last_stable_offset

    # ---- commits -------------------------------------------------------------------------------------------------------

    def committed(self) -> Deferred[None] | None:
        """The wait until everything appended so far is committed; None where it is already.

        It fails with KafkaError KAFKA_STORAGE_ERROR when some of it may be lost.
        """
        log = self._log or self.log
        if log.high_watermark < log.log_end_offset:
            self._advance(log)
        return None if log.high_watermark >= log.log_end_offset else self._synced()

    def _advance(self, log: Log) -> None:
        """Move the high watermark up to what nothing that happens to this process can undo."""
        end = log.log_end_offset  # below is needs_flush_before_ack, in place: each append comes here
        synced_enough = end - log.recovery_point < log.config.flush_messages
        log.commit_to(end if synced_enough else log.recovery_point)

    def _synced(self) -> Deferred[None]:
        commit = self._group_commit
        if commit is None:
            commit = self._group_commit = GroupCommit(self._host.runtime.wake_queue, self._flush, self.tell_changed)
        return commit.synced()

    def _flush(self) -> Deferred[None]:
        log = self.log
        plan = log.plan_flush()
        if plan is None:
            self._advance(log)
            return Deferred.completed(None)

        def flushed(_: None) -> None:
            plan.finish()
            self._advance(log)

        return self._host.runtime.offload(plan.run).map(flushed)

    # ---- appending -----------------------------------------------------------------------------------------------------

    def append(self, records: Buffer, *, now_ms: int, origin: Origin, transaction_version: int = 0) -> AppendResult:
        """Append one batch as its leader and wake who waits for it; ``records`` may be changed in place and is not kept.

        Raises what ``Log.append_as_leader`` raises, RecordsRejected (with errors per record) among it.
        """
        log = self.log
        result = log.append_as_leader(
            records,
            leader_epoch=self.leader_epoch,
            now_ms=now_ms,
            origin=origin,
            transaction_version=transaction_version,
        )
        if not result.duplicate:
            self._advance(log)
            if self.watchers:
                size = len(records)
                for watcher in list(self.watchers):
                    watcher.appended(self, size)
        if result.last_offset >= log.high_watermark:
            result.committed = self.committed()
        return result

    def append_produce(self, records: Buffer, transaction_version: int = 0, *, to_all: bool = False) -> AppendResult:
        """``append`` what a client of that transaction version sent; with ``to_all`` (acks=all) enough replicas must be in
        sync.
        """
        if to_all:
            self.check_enough_in_sync()
        now_ms = self._host.runtime.clock.now_ms()
        return self.append(records, now_ms=now_ms, origin=Origin.CLIENT, transaction_version=transaction_version)
