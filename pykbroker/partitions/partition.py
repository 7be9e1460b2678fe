"""One partition: its leader, its log, and the requests that wait for it.

Where the brokers of a process share one log, all replicas have what the leader has appended. It is
committed at once or, with ``flush.messages``, when it is synced: otherwise a reader could see records that a power loss
removes. ``append`` returns the offsets of a batch and two waits, for the sync of this copy and for the commit, and ``_advance`` alone
moves the high watermark, but for ``append_usual`` and ``append_own``, after which there is nothing to wait for. Where each broker has its own copy, a
partition with other replicas commits what these have, too: as leader by ``led``, as follower by what its leader says.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from pykbroker.metadata.image import NO_LEADER
from pykbroker.partitions.group_commit import GroupCommit
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.validate import ContentNotRead, Origin
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.partitions.append_queue import AppendQueue
    from pykbroker.partitions.host import PartitionHost, Replication
    from pykbroker.partitions.leadership import Leadership
    from pykbroker.storage.log.config import LogConfig
    from pykbroker.storage.log.log import AppendResult, Log
    from pykbroker.storage.log.validate import Allowance
    from pykbroker.wire.batch_header import BatchHeader

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class PartitionWatcher(Protocol):
        """Notified of changes of a partition: fetch sessions and waiting fetches."""

        #: Whether it is a follower's, which reads to the log end offset: others are told of what is committed.
        is_replica: bool

        def appended(self, partition: Partition, size: int) -> None:
            """``size`` bytes were appended."""
            ...

        def changed(self, partition: Partition) -> None:
            """Its leader, log or existence changed: read it again."""
            ...


class Partition:
    """See the module. ``watchers`` is an ordered set: notifications go in the order of arrival."""

    __slots__ = (
        "_append_queue",
        "_group_commit",
        "_host",
        "deleted",
        "index",
        "isr",
        "leader",
        "leader_epoch",
        "led",
        "opened_log",
        "replicas",
        "topic",
        "topic_id",
        "watchers",
    )

    def __init__(self, host: PartitionHost, topic: str, topic_id: bytes, image: PartitionImage) -> None:
        self._host = host
        #: The log if it is open, else None; for others to read. An attribute, since each fetch comes there.
        self.opened_log: Log | None = None
        self._group_commit: GroupCommit | None = None
        self._append_queue: AppendQueue | None = None
        #: Leads the other replicas; None where there are none, or none with a copy of their own, and on followers.
        self.led: Leadership | None = None
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
        """Apply the metadata of this partition."""
        moved = (self.leader, self.leader_epoch) != (image.leader, image.leader_epoch)
        self.leader, self.leader_epoch = image.leader, image.leader_epoch
        self.replicas, self.isr = image.replicas, image.isr
        if self._host.replication is not None and self.opened_log is not None:
            self._take_role(self.opened_log, image, self._host.replication)
            if moved:
                self.tell_changed()
        elif moved:
            if self.opened_log is not None:
                self._begin_epoch(self.opened_log)
            self.tell_changed()

    def mark_deleted(self, code: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> None:
        """The topic was deleted: notify the watchers, who then find out. ``code`` is for who waits for replicas."""
        self.deleted = True
        if self.led is not None:
            self._end_leadership(code)
        if self.watchers:
            self.tell_changed()
            self.watchers.clear()

    def tell_changed(self) -> None:
        """Notify the watchers of a change, so that waiting fetches read again at once."""
        if self.watchers:
            for watcher in list(self.watchers):
                watcher.changed(self)

    def _tell_appended(self, size: int) -> None:
        for watcher in list(self.watchers):
            watcher.appended(self, size)

    def check_served_by(self, node_id: int, epoch: int, *, leader_only: bool = True) -> None:
        """Check that a broker may answer for the partition; ``epoch`` is the client's current leader epoch, -1 for none.

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
        """Raises KafkaError NOT_ENOUGH_REPLICAS if the ISR is smaller than min.insync.replicas or, for a partition with
        fewer replicas than that, than the number of its replicas.
        """
        in_sync = len(self.isr)
        if in_sync < len(self.replicas) and in_sync < self.log.config.min_insync_replicas:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{in_sync} of {len(self.replicas)} replicas of {self.topic}-{self.index} are in sync, and "
                f"min.insync.replicas is {self.log.config.min_insync_replicas}",
            )

    # ---- the log -------------------------------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        """The log, opened (and created if new) on first use. Raises KafkaError KAFKA_STORAGE_ERROR."""
        log = self.opened_log
        if log is None:
            log = self._host.open_log(self)
            if log.needs_flush_before_ack:  # recovered after a kill: readable once it is synced
                log.flush()
            replication = self._host.replication
            if replication is None:
                self._advance(log)  # the other replicas share this log, and have all of it
                self._begin_epoch(log)
            self.opened_log = log
            if replication is not None:
                self.take_role()
        return log

    def take_role(self) -> None:
        """Lead or follow, as the metadata say, with the open log of a broker that has its own copy; neither while the broker is not
        registered.
        """
        replication, log = self._host.replication, self.opened_log
        if replication is not None and log is not None:
            image = replication.image_of(self)
            if image is not None:
                self._take_role(log, image, replication)

    def _take_role(self, log: Log, image: PartitionImage, replication: Replication) -> None:
        led, leads = self.led, self.leader == replication.node_id and replication.registered
        alone = len(image.replicas) == 1
        replication.note_directory(self, image, log)
        if led is not None and leads and not alone and led.leading.isr.leader_epoch == image.leader_epoch:
            led.published(image, log)
            return
        if log.pinned_by is not None:
            _end_truncation(log)
        self._end_leadership()
        if leads:
            log.begin_epoch(self.leader_epoch)
        if alone:
            self._advance(log)
        elif leads:
            from pykbroker.partitions.leadership import Leadership

            self.led = Leadership(self, log, replication, image)
            self.led.advance()
        replication.take_up(self, log)

    def _end_leadership(self, code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        led, self.led = self.led, None
        if led is not None:
            led.end(code)

    @property
    def _is_only_copy(self) -> bool:
        """Whether what this copy has is committed."""
        return self._host.replication is None or len(self.replicas) == 1

    def _begin_epoch(self, log: Log) -> None:
        """Record the start offset of the leader epoch, which is the log end offset at the election; a closed log has not
        grown since.
        """
        if self.leader != NO_LEADER:
            log.begin_epoch(self.leader_epoch)

    def reopen(self) -> None:
        """Open the log again, which was moved. Raises KafkaError KAFKA_STORAGE_ERROR."""
        self.opened_log = None
        _ = self.log

    def update_config(self, config: LogConfig) -> None:
        """Apply changed settings. The high watermark never goes back; it advances once unsynced records are synced."""
        log = self.log
        log.update_config(config)
        if self.led is not None:
            self.led.leading.min_in_sync = config.min_insync_replicas
        self._advance_by_role(log)
        if log.needs_flush_before_ack:
            self._sync(log.log_end_offset)

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def high_watermark(self) -> int:
        """The offset at which committed records end; readers see nothing from it on."""
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The offset at which readers with read_committed stop."""
        return self.log.last_stable_offset

    # ---- commits -------------------------------------------------------------------------------------------------------

    def synced(self, end: int) -> Deferred[None] | None:
        """The wait until this copy of everything before the offset ``end`` is as durable as ``flush.messages`` asks; None where it is
        already. It fails with KafkaError KAFKA_STORAGE_ERROR when some of it may be lost.
        """
        return None if self.log.synced_offset >= end else self._sync(end)

    def committed(self, end: int | None = None) -> Deferred[None] | None:
        """The wait until everything before the offset ``end``, by default all that is appended so far, is committed; None where it is
        already. It fails with KafkaError KAFKA_STORAGE_ERROR when some of it may be lost.
        """
        log = self.opened_log or self.log
        if end is None:
            end = log.log_end_offset
        if log.high_watermark < end:
            self._advance_by_role(log)
        if log.high_watermark >= end:
            return None
        if self._is_only_copy:
            return self._sync(end)
        if self.led is None:
            return Deferred.failed(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        if log.synced_offset < end:
            self._sync(end).or_log("syncing %r", self)
        return self.led.committed(end)

    def _advance_by_role(self, log: Log) -> None:
        """Raise the high watermark to what is known to be committed."""
        if self.led is not None:
            self.led.advance()
        elif self._is_only_copy:
            self._advance(log)

    def _advance(self, log: Log) -> None:
        """Raise the high watermark to the end of what is committed: what the only copy has."""
        end = log.log_end_offset  # below is log.synced_offset, in place: each append comes here
        log.commit_to(end if end - log.recovery_point < log.config.flush_messages else log.recovery_point)

    def _sync(self, end: int) -> Deferred[None]:
        commit = self._group_commit
        if commit is None:
            commit = self._group_commit = GroupCommit(
                self._host.runtime.wake_queue, self._flush, self.tell_changed, lambda: self.log_end_offset
            )
        return commit.synced(end)

    def _flush(self) -> Deferred[None]:
        log = self.log
        plan = log.plan_flush()
        if plan is None:
            self._advance_by_role(log)
            return Deferred.completed(None)

        def flushed(_: None) -> None:
            plan.finish()
            self._advance_by_role(log)

        return self._host.runtime.offload(plan.run).map(flushed)

    # ---- appending -----------------------------------------------------------------------------------------------------

    def append(self, records: Buffer, *, now_ms: int, origin: Origin, transaction_version: int = 0) -> AppendResult:
        """Append one batch as the leader and notify the watchers; ``records`` may be changed in place and is not kept.

        Raises what ``Log.append_as_leader`` raises: RecordsRejected (with errors per record) and other KafkaErrors.
        """
        return self.append_batch(records, now_ms, origin, transaction_version, None, None)

    def append_batch(
        self,
        records: Buffer,
        now_ms: int,
        origin: Origin,
        transaction_version: int,
        allowance: Allowance | None,
        validated: tuple[BatchHeader, Buffer] | None,
    ) -> AppendResult:
        """``append`` with the arguments of ``Log.append_batch``; with an ``allowance`` it may raise ContentNotRead."""
        log = self.opened_log or self.log
        result = log.append_batch(records, self.leader_epoch, now_ms, origin, transaction_version, allowance, validated)
        if not result.duplicate:
            if self.led is None:
                self._advance(log)
                if self.watchers:
                    self._tell_appended(len(records))
            else:
                self.led.appended(result.base_offset, len(records))
        if result.last_offset >= log.high_watermark:
            result.synced = self.synced(result.last_offset + 1)
            result.committed = self.committed(result.last_offset + 1)
        return result

    def append_produce(
        self, records: Buffer, transaction_version: int = 0, *, to_all: bool = False
    ) -> AppendResult | Deferred[AppendResult]:
        """``append`` for a client with that transaction version; with ``to_all`` (acks=all) enough replicas must be in
        sync: else raises KafkaError NOT_ENOUGH_REPLICAS.

        A wait if a thread must read the records first, or those of an earlier batch; it fails as ``AppendQueue.add`` says.
        """
        if to_all and len(self.isr) < len(self.replicas):  # else there are enough
            self.check_enough_in_sync()
        runtime = self._host.runtime
        if self._append_queue is None:
            try:
                return self.append_batch(
                    records, runtime.clock.now_ms(), Origin.CLIENT, transaction_version, runtime.decoding, None
                )
            except ContentNotRead:
                from pykbroker.partitions.append_queue import AppendQueue

                self._append_queue = AppendQueue(self, runtime, self._queue_emptied)
        return self._append_queue.add(records, transaction_version)

    def append_usual(self, records: memoryview, now_ms: int, to_all: bool) -> tuple[int, int] | None:
        """``append_produce`` for a batch that ``Log.append_usual`` takes, and that is committed by that: its base offset, and the log start
        offset. None where there is more to it, and nothing was done.
        """
        log = self.opened_log
        if log is None or self.led is not None or self._append_queue is not None:
            return None
        if to_all and len(self.isr) < len(self.replicas):
            return None
        first = log.append_usual(records, self.leader_epoch, now_ms)
        if first < 0:
            return None
        log.commit_to(log.log_end_offset)  # all of it is as durable as it must be
        if self.watchers:
            self._tell_appended(len(records))
        return first, log.log_start_offset

    def append_own(self, batch: bytearray, count: int, now_ms: int) -> int:
        """``append_batch`` for records of this process that ``Log.append_own`` takes, and that are committed by that: the offset of the
        first. -1 where there is more to it, and nothing was done.
        """
        log = self.opened_log
        if log is None or self.led is not None or self.leader == NO_LEADER or len(self.isr) < len(self.replicas):
            return -1
        first = log.append_own(batch, count, self.leader_epoch, now_ms)
        if first >= 0:
            log.commit_to(first + count)
            if self.watchers:
                self._tell_appended(len(batch))
        return first

    def append_at_once(self, records: Buffer) -> AppendResult:
        """``append_produce`` with acks=all for records of this process, which are few: it waits for no thread."""
        self.check_enough_in_sync()
        return self.append(records, now_ms=self._host.runtime.clock.now_ms(), origin=Origin.CLIENT)

    def _queue_emptied(self) -> None:
        self._append_queue = None


def _end_truncation(log: Log) -> None:
    """Let the truncation of a log that another leader has led end before the log has another role: it would cut off what is appended since."""
    from pykbroker.storage.log.truncating import TruncationPlan

    if isinstance(log.pinned_by, TruncationPlan):
        with suppress(KafkaError):  # its thread is told; who follows finds again where the logs part
            log.pinned_by.run()
