"""What a replicated partition's leader does beside appending: it notes its followers' fetches, commits, and changes the ISR.

``Leading`` decides; here its decisions are carried out on the log, the waits and the watchers. A partition with one replica has none of
this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.partitions.commit_waits import CommitWaits
from pykbroker.replication.following import FetchPlace
from pykbroker.replication.isr import CommittedIsr, Isr, ProposedIsr
from pykbroker.replication.leading import Leading
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.partitions.host import Replication
    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.log import Log


class Leadership:
    """See the module. It ends with the leader epoch."""

    __slots__ = ("_deletions", "_host", "_log", "_partition", "_waits", "leading")

    def __init__(self, partition: Partition, log: Log, host: Replication, image: PartitionImage) -> None:
        self._partition = partition
        self._log = log
        self._host = host
        self._waits = CommitWaits()
        #: Waits for the low watermark, by the offset that it must reach.
        self._deletions: list[tuple[int, Deferred[int]]] = []
        self.leading = Leading(
            host.node_id,
            Isr(image.leader_epoch, image.partition_epoch, image.isr),
            image.replicas,
            host,
            host.fetch_times,
            epoch_start=log.epochs.start_of(image.leader_epoch),
            min_in_sync=log.config.min_insync_replicas,
            lag_ms=host.lag_ms,
            now_ms=host.now_ms(),
        )

    # -- the log ------------------------------------------------------------------------------------------------------

    def appended(self, first: int, size: int) -> None:
        """A batch of ``size`` bytes was appended at ``first``: followers fetch it."""
        self.leading.appended(first, self._log.log_end_offset, size)
        partition = self._partition
        for watcher in list(partition.watchers):
            if watcher.is_replica:
                watcher.appended(partition, size)
        self.advance()

    def advance(self) -> None:
        """Commit what all in-sync replicas have, and tell those who wait for that."""
        log = self._log
        mark = min(self.leading.high_watermark(log.synced_offset, self._host.now_ms()), log.log_end_offset)
        if mark <= log.high_watermark:
            return
        log.commit_to(mark)
        size = self.leading.committed_to(mark)
        partition = self._partition
        for watcher in list(partition.watchers):
            if watcher.is_replica:
                watcher.changed(partition)  # it learns the high watermark at once
            else:
                watcher.appended(partition, size)
        # Enough are in sync, or the mark would stand still; as in Apache Kafka, but for an ISR that another of its threads makes smaller right
        # then: NOT_ENOUGH_REPLICAS_AFTER_APPEND is never answered.
        for wait in self._waits.reached(mark):
            wait.complete(None)

    def committed(self, end: int) -> Deferred[None]:
        """The wait until everything before ``end`` is committed. It fails with the code of ``end`` when the leadership ends."""
        return self._waits.add(end)

    def end(self, code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """The leadership is over: who waits is told why, and asks the new leader where there is one."""
        for wait in self._waits.all():
            wait.fail(KafkaError(code))
        deletions, self._deletions = self._deletions, []
        for _, deletion in deletions:
            deletion.fail(KafkaError(code))

    @property
    def knows_high_watermark(self) -> bool:
        """Whether the high watermark has reached the start of this epoch; before, it may be less than clients have seen (KIP-207)."""
        return self._log.high_watermark >= self.leading.epoch_start

    # -- deletion of records --------------------------------------------------------------------------------------------

    def deleted_before(self, offset: int) -> Deferred[int]:
        """The wait until all living replicas have deleted the records before ``offset``; its value is their least log start offset."""
        deletion: Deferred[int] = Deferred()
        self._deletions.append((offset, deletion))
        self._end_deletions()
        return deletion

    def _end_deletions(self) -> None:
        low = self.leading.low_watermark(self._log.log_start_offset)
        over = [deletion for offset, deletion in self._deletions if offset <= low]
        self._deletions = [each for each in self._deletions if each[0] > low]
        for deletion in over:
            deletion.complete(low)

    # -- followers ----------------------------------------------------------------------------------------------------

    def fetched(self, replica: int, broker_epoch: int, place: FetchPlace, log_start: int) -> None:
        """A follower fetches from ``place``, so it has everything before its offset; its log begins at ``log_start``. Raises KafkaError NOT_LEADER_OR_FOLLOWER from a broker
        incarnation that has ended, UNKNOWN_LEADER_EPOCH from one without a replica that names the leader epoch: it knows newer metadata.
        """
        leading, log = self.leading, self._log
        if replica not in leading.followers:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER if place.leader_epoch < 0 else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
        now_ms, end = self._host.now_ms(), log.log_end_offset
        if not leading.fetched(replica, broker_epoch, place.offset, log_start, end, now_ms):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._go_on(expands=replica not in leading.isr.maximal)

    def check_lag(self) -> None:
        """Propose an ISR without those that lag, and commit what only they held up."""
        self._propose(self.leading.shrinking(self._log.log_end_offset, self._host.now_ms()))
        self._go_on()

    def _propose(self, change: ProposedIsr | None) -> None:
        if change is not None:
            self._host.propose(self._partition, change)

    def _go_on(self, *, expands: bool = True) -> None:
        """What is known of replicas has changed. Who has come into sync while another change was proposed is proposed now: in a session
        it fetches without naming the partition again.
        """
        if expands:
            self._propose(self.leading.expansion(self._log.high_watermark, self._host.now_ms()))
        self.advance()
        if self._deletions:
            self._end_deletions()

    # -- the ISR ------------------------------------------------------------------------------------------------------

    def published(self, image: PartitionImage, log: Log) -> None:
        """The metadata have changed within this leader epoch, or the log is another object since it was moved."""
        self._log = log
        self.leading.published(image.replicas, image.partition_epoch, image.isr, self._host.now_ms())
        self._go_on()

    def settle(self, change: ProposedIsr, answer: CommittedIsr | int) -> bool:
        """The controller has answered a proposal of this leader; whether the same goes again."""
        isr, again = self.leading.isr, False
        if isinstance(answer, CommittedIsr):
            isr.granted(change, answer)
        elif again := isr.refused(change, answer):
            self._host.propose(self._partition, change)
        self._go_on()
        return again
