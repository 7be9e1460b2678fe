"""A partition that this broker follows: what its leader sent is appended, and what the leader does not have is cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.replication.following import FollowerDecision, FollowerStep, Following
from pykbroker.storage.log.truncating import TruncationPlan

if TYPE_CHECKING:
    from pykbroker.partitions.host import Replication
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.waits import Deferred
    from pykbroker.storage.log.log import Log
    from pykbroker.wire.messages.fetch import PartitionData


class _LogView:
    """The log as ``Following`` asks for it."""

    __slots__ = ("_log",)

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def log_end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self._log.high_watermark

    @property
    def latest_epoch(self) -> int:
        return self._log.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self._log.end_offset_for_epoch(epoch)


class FollowedPartition:
    """See the module. It ends with the leader epoch, or when the log is moved to another log directory."""

    __slots__ = ("_host", "_refusals", "begin", "in_sync", "key", "log", "machine", "partition", "resting")

    def __init__(self, partition: Partition, log: Log, host: Replication) -> None:
        self.partition = partition
        self.key = partition.topic_id, partition.index
        self.log = log
        self._host = host
        self.machine = Following(partition.leader_epoch, _LogView(log))
        #: What to do before the first fetch.
        self.begin: FollowerDecision | None = self.machine.begin()
        #: Not fetched for a while, after an error.
        self.resting = False
        self._refusals = 0
        #: Whether it had all that was committed when it fetched last.
        self.in_sync = False

    def rest(self) -> int:
        """Be fetched no more for a while, after an error; how often that was so before."""
        self.resting = True
        self._refusals += 1
        return self._refusals - 1

    @property
    def ends(self) -> tuple[int, int, int, bool]:
        """What an answer may change."""
        log = self.log
        return log.log_end_offset, log.high_watermark, log.log_start_offset, self.in_sync

    def append(self, data: PartitionData) -> int:
        """Append what the leader sent, and take its high watermark and log start offset; the bytes of the records. Raises KafkaError CORRUPT_MESSAGE or
        KAFKA_STORAGE_ERROR.
        """
        log, records, size = self.log, data.records, 0
        if isinstance(records, list):
            records = b"".join(bytes(piece) for piece in records)
        if records:
            now_ms = self._host.wall_ms()
            size = log.append_as_follower(records, leader_epoch=self.machine.leader_epoch, now_ms=now_ms)
            self.partition.synced(log.log_end_offset)
        self.machine.appended()
        self.in_sync = data.high_watermark <= log.log_end_offset
        committed = log.high_watermark
        log.commit_to(min(data.high_watermark, log.log_end_offset))
        if data.log_start_offset > log.log_start_offset:
            log.delete_records_before(min(data.log_start_offset, log.high_watermark))
        if log.high_watermark > committed:
            for watcher in list(self.partition.watchers):
                watcher.appended(self.partition, max(size, 1))
        return len(records or b"")

    def cut(self, decision: FollowerDecision) -> Deferred[None]:
        """Truncate the log, or let it begin anew, in a thread; the checkpoints are written before anything is appended again."""
        plan = TruncationPlan(self.log, decision.offset, start_over=decision.step is FollowerStep.START_OVER)

        def over(done: Deferred[None]) -> None:
            plan.finish()
            self.partition.tell_changed()
            return done.value

        return self._host.in_thread(plan.run).chain(lambda _: self._host.write_checkpoints(self.log)).fold(over)
