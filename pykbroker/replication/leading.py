"""A leader's view of the replicas of its partition in one leader epoch: how far each has fetched, which are in sync, and the high watermark.

A follower that fetches from an offset has everything before it. It is caught up at a time at which it had all that the leader had then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from pykbroker.replication.isr import Isr, IsrMember, ProposedIsr

UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1
#: Before any time at which a replica may have been caught up.
_NEVER_MS = -(2**62)


class LivingBrokers(Protocol):
    """The brokers that are neither fenced nor in a controlled shutdown, by the metadata."""

    def epoch_of(self, broker_id: int, /) -> int | None:
        """The broker epoch of a living broker, None for others."""
        ...


class ReplicaProgress:
    """What the leader knows of one follower."""

    __slots__ = ("broker_epoch", "caught_up_ms", "fetched_ms", "leader_end", "log_end", "log_start")

    def __init__(self, caught_up_ms: int) -> None:
        self.log_start = self.log_end = UNKNOWN_OFFSET
        #: The leader's log end offset at the last fetch, and the time of that.
        self.leader_end = UNKNOWN_OFFSET
        self.fetched_ms = _NEVER_MS
        self.caught_up_ms = caught_up_ms
        self.broker_epoch = UNKNOWN_EPOCH

    def fetched(self, broker_epoch: int, offset: int, log_start: int, leader_end: int, now_ms: int) -> None:
        """Note a fetch from ``offset``. Whoever has now what the leader had at the fetch before was caught up then."""
        if offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.broker_epoch = broker_epoch
        self.log_end, self.log_start = offset, log_start
        self.leader_end = max(self.leader_end, leader_end)
        self.fetched_ms = now_ms

    def is_caught_up(self, leader_end: int, now_ms: int, lag_ms: int) -> bool:
        """Whether it has all of the leader's log, or had so at most ``lag_ms`` ago (``replica.lag.time.max.ms``)."""
        return self.log_end == leader_end or now_ms - self.caught_up_ms <= lag_ms


class Leading:
    """See the module. Times are in milliseconds of a monotonic clock.

    ``epoch_start`` is the log end offset at the election. ``brokers`` is asked at each decision; ``fetches`` has the time of each
    broker's last fetch, whatever partitions it named: in a session it names those with news only (KIP-227).
    """

    __slots__ = (
        "_committing",
        "_fetches",
        "_lag_ms",
        "brokers",
        "epoch_start",
        "followers",
        "isr",
        "min_in_sync",
        "node_id",
    )

    def __init__(
        self,
        node_id: int,
        isr: Isr,
        replicas: Iterable[int],
        brokers: LivingBrokers,
        fetches: Mapping[int, int],
        *,
        epoch_start: int,
        min_in_sync: int,
        lag_ms: int,
        now_ms: int,
    ) -> None:
        self.node_id = node_id
        self.isr = isr
        self.brokers = brokers
        self._fetches = fetches
        self.epoch_start = epoch_start
        #: ``min.insync.replicas``.
        self.min_in_sync = min_in_sync
        self._lag_ms = lag_ms
        #: The end offset and the bytes of each append that is not committed.
        self._committing: deque[tuple[int, int]] = deque()
        self.followers: dict[int, ReplicaProgress] = {}
        self._follow_assignment(replicas, now_ms)

    def _follow_assignment(self, replicas: Iterable[int], now_ms: int) -> None:
        known = self.followers
        # Who is not in sync holds up nothing until it is caught up.
        self.followers = {
            replica: known.get(replica) or ReplicaProgress(now_ms if replica in self.isr.committed else _NEVER_MS)
            for replica in replicas
            if replica != self.node_id
        }

    # -- the ISR ------------------------------------------------------------------------------------------------------

    def published(self, replicas: Collection[int], partition_epoch: int, members: Iterable[int], now_ms: int) -> None:
        """Take the metadata of this leader epoch."""
        self.isr.published(partition_epoch, members)
        if set(replicas) != {self.node_id, *self.followers}:
            self._follow_assignment(replicas, now_ms)

    @property
    def enough_in_sync(self) -> bool:
        """Whether the committed ISR has ``min.insync.replicas``, or all replicas where these are fewer."""
        return len(self.isr.committed) >= min(self.min_in_sync, len(self.followers) + 1)

    def expansion(self, high_watermark: int, now_ms: int) -> ProposedIsr | None:
        """Propose an ISR with the followers that have come into sync; None if there are none, or a change is proposed already.

        They fetch, if only in a session without news of this partition, and have all that is committed, by this leader and by those before it: until the high watermark has reached the start of
        this epoch, it says too little (KIP-207's reason).
        """
        isr = self.isr
        if isr.proposed is not None:
            return None
        joining = [
            IsrMember(replica, progress.broker_epoch)
            for replica, progress in self.followers.items()
            if replica not in isr.committed
            and progress.log_end >= max(high_watermark, self.epoch_start)
            and self._may_join(replica, progress)
            and now_ms - max(progress.fetched_ms, self._fetches.get(replica, _NEVER_MS)) <= self._lag_ms
        ]
        if not joining:
            return None
        return isr.propose([*self._members(isr.committed), *joining])

    def shrinking(self, log_end: int, now_ms: int) -> ProposedIsr | None:
        """Propose an ISR without the followers that lag behind; None as for ``expansion``."""
        isr = self.isr
        if isr.proposed is not None:
            return None
        kept = [replica for replica in isr.committed if self._keeps_up(replica, log_end, now_ms)]
        return None if len(kept) == len(isr.committed) else isr.propose(self._members(kept))

    def _keeps_up(self, replica: int, log_end: int, now_ms: int) -> bool:
        if replica == self.node_id:
            return True
        progress = self.followers.get(replica)
        return progress is not None and progress.is_caught_up(log_end, now_ms, self._lag_ms)

    def _members(self, replicas: Iterable[int]) -> list[IsrMember]:
        """The members, each with the epoch that it fetched with, the leader with its own."""
        return [
            IsrMember(
                replica,
                followed.broker_epoch
                if (followed := self.followers.get(replica)) is not None
                else self.brokers.epoch_of(replica) or UNKNOWN_EPOCH,
            )
            for replica in replicas
        ]

    def _may_join(self, replica: int, progress: ReplicaProgress) -> bool:
        """Whether a follower may be in the ISR: it lives, and has not started anew since it fetched (KIP-841, KIP-903)."""
        epoch = self.brokers.epoch_of(replica)
        return epoch is not None and progress.broker_epoch in (epoch, UNKNOWN_EPOCH)

    # -- offsets ------------------------------------------------------------------------------------------------------

    def appended(self, first: int, log_end: int, size: int) -> None:
        """A batch of ``size`` bytes was appended, from ``first`` to ``log_end``.

        A follower that had everything before it was caught up as long as it fetched, though its fetches did not name this partition.
        """
        self._committing.append((log_end, size))
        for replica, progress in self.followers.items():
            if progress.log_end == first:
                progress.caught_up_ms = max(progress.caught_up_ms, self._fetches.get(replica, _NEVER_MS))

    def fetched(
        self, replica: int, broker_epoch: int, offset: int, log_start: int, leader_end: int, now_ms: int
    ) -> bool:
        """A follower fetches from ``offset`` and has ``log_start``; ``leader_end`` is the log end offset here. Whether that was noted:
        not for a broker without a replica, nor from an incarnation of it that has ended, by the metadata or since a later one has fetched:
        that fetches in a session, and would not say again who it is.
        """
        progress = self.followers.get(replica)
        if progress is None:
            return False
        latest = max(progress.broker_epoch, self.brokers.epoch_of(replica) or UNKNOWN_EPOCH)
        if UNKNOWN_EPOCH != broker_epoch < latest:
            return False
        progress.fetched(broker_epoch, offset, log_start, leader_end, now_ms)
        return True

    def high_watermark(self, log_end: int, now_ms: int) -> int:
        """The offset before which every replica has everything that is or may be in sync; ``UNKNOWN_OFFSET`` while too few are.

        ``log_end`` is the end of what this replica has, with ``flush.messages`` the end of what is synced. A follower about to join
        holds it up, so that it can join at all; the high watermark itself never goes back, which is the log's to see to.
        """
        if not self.enough_in_sync:
            return UNKNOWN_OFFSET
        mark, maximal = log_end, self.isr.maximal
        for replica, progress in self.followers.items():
            if progress.log_end < mark and (
                replica in maximal
                or (progress.is_caught_up(log_end, now_ms, self._lag_ms) and self._may_join(replica, progress))
            ):
                mark = progress.log_end
        return mark

    def low_watermark(self, log_start: int) -> int:
        """The least log start offset of the living replicas, which DeleteRecords waits for; ``log_start`` is the leader's."""
        return min(
            [
                log_start,
                *(
                    progress.log_start
                    for replica, progress in self.followers.items()
                    if self.brokers.epoch_of(replica) is not None
                ),
            ]
        )

    def committed_to(self, high_watermark: int) -> int:
        """The bytes of the appends that ``high_watermark`` has newly passed."""
        committing, size = self._committing, 0
        while committing and committing[0][0] <= high_watermark:
            size += committing.popleft()[1]
        return size
