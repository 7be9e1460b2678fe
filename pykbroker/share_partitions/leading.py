"""A share partition at the broker that leads its partition: reads the log, persists changes, and keeps the locks' time.

Its state is read from the share coordinator first. It ends when another broker leads the partition, when the share coordinator
has fenced it, and when no member of the group has a session at the broker any more.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.coordination.share.state import UNINITIALIZED, SharePartitionKey, ShareState
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.share_partitions.acquiring import AcquireRequest
from pykbroker.share_partitions.dead_letters.giving_up import GivingUp
from pykbroker.share_partitions.share_partition import SharePartition
from pykbroker.share_partitions.start_offset import start_offset
from pykbroker.storage.index.aborted import AbortedRanges
from pykbroker.storage.index.index import read_blocking
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.wire.batch_header import iter_batches
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import ShareStatePort
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.timers import Timer
    from pykbroker.share_partitions.dead_letters.writing import DeadLetters
    from pykbroker.share_partitions.group_settings import ShareGroupSettings
    from pykbroker.share_partitions.in_flight import PendingChange
    from pykbroker.share_partitions.states import Acknowledged, Acquired, GivenUp
    from pykbroker.wire.primitives import Buffer

log = logging.getLogger(__name__)

#: Bytes that one acquisition reads at most: the records that a member wants are far fewer.
_READ_BYTES = 1024 * 1024
#: Batches that one acquisition looks at: there are thousands of small ones in what is read.
_MOST_BATCHES = 500
_NONE_ABORTED = AbortedRanges(())

_SHOWN_AS = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
_FENCED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND)


@dataclass(slots=True)
class Wanted:
    """What a member wants to acquire."""

    member: str
    max_records: int
    max_bytes: int
    batch_size: int
    strict: bool = False
    #: Whether the member is gone, or its request answered: then it acquires nothing.
    is_over: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Delivery:
    """Records for a member: the batches of the log that have them, and which of them it has acquired."""

    records: Buffer
    acquired: list[Acquired]


class LedSharePartition:
    """See the module. ``ended`` is called once, when it can be used no more."""

    is_replica = False

    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        settings: ShareGroupSettings,
        runtime: Runtime,
        states: ShareStatePort,
        letters: DeadLetters,
        ended: Callable[[LedSharePartition], None],
    ) -> None:
        self.key = key
        self.partition = partition
        self.settings = settings
        self._runtime = runtime
        self._states = states
        self._ended = ended
        self.has_ended = False
        #: Records that came back since their locks were over.
        self.locks_over = 0
        self.leader_epoch = partition.leader_epoch
        self._state_epoch = 0
        self._share: SharePartition | None = None
        self.giving_up = GivingUp(self, letters, runtime)
        self._timer: Timer | None = None
        #: Whether a thread reads for an acquisition: others wait until it is over.
        self._reading = False
        #: Fetches that wait for records or for room; an ordered set.
        self.waiting: dict[Callable[[], None], None] = {}
        partition.watchers[self] = None
        self.opening: Deferred[None] = attempt(self._open).recover(KafkaError, self._not_opened)

    @property
    def start_offset(self) -> int:
        """No record before it is delivered any more; 0 before its state is read."""
        return 0 if self._share is None else self._share.start_offset

    # Its beginning and its end

    def _open(self) -> Deferred[None]:
        return self._states.read(self.key, self.leader_epoch).chain(self._read)

    def _read(self, state: ShareState) -> Deferred[None]:
        self._state_epoch = state.state_epoch
        if state.start_offset != UNINITIALIZED:
            self._begin(state, state.start_offset)
            return Deferred.completed(None)
        found = start_offset(self.settings.offset_reset, self.partition, self._runtime)
        return found.map(partial(self._begin, state))

    def _begin(self, state: ShareState, start: int) -> None:
        if self.has_ended:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._share = SharePartition(self.settings.limits, start, state.batches)
        given_up = self._share.archiving()
        if given_up:
            self.giving_up.begin(given_up, state.none_archiving_ms)
        self._wake()

    def _not_opened(self, error: KafkaError) -> None:
        """Raises KafkaError COORDINATOR_NOT_AVAILABLE or another of ``_SHOWN_AS``."""
        self.end()
        raise _for_members(error, error.given_message) from error

    @property
    def share(self) -> SharePartition | None:
        """What is in flight; None before its state is read."""
        return self._share

    def end(self) -> None:
        """It can be used no more: waiting fetches are told."""
        if self.has_ended:
            return
        self.has_ended = True
        self.partition.watchers.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
        self._ended(self)
        self._wake()

    # What it watches

    def appended(self, partition: Partition, size: int) -> None:
        """See ``PartitionWatcher``."""
        if self.waiting:
            self._wake()

    def changed(self, partition: Partition) -> None:
        """See ``PartitionWatcher``."""
        if partition.deleted or partition.leader_epoch != self.leader_epoch:
            self.end()
        else:
            self._wake()

    def _wake(self) -> None:
        for wake in list(self.waiting):
            self._runtime.wake_queue.add(wake)

    # Acquiring

    def available_bytes(self, most: int) -> int:
        """Bytes that could be acquired, no more than ``most``; more than there are where the log's end is not in memory.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER, or what reading the log raises.
        """
        share, log = self._usable(), self.partition.log
        share.log_start_moved(log.log_start_offset)
        upper = log.last_stable_offset if self.settings.is_committed else log.high_watermark
        if self._reading or not share.can_acquire:
            return 0
        plan = log.plan_read(share.next_fetch_offset, most, upper_offset=upper)
        return 0 if plan is None else plan.size

    def acquire(self, wanted: Wanted) -> Delivery | Deferred[Delivery | None] | None:
        """Acquire records for a member; None if there are none, or it is gone when they are read. A wait if the disk must be waited for.

        Raises, or fails with, KafkaError NOT_LEADER_OR_FOLLOWER, or what reading the log raises.
        """
        share = self._usable()
        if self._reading:
            return None
        log = self.partition.log
        share.log_start_moved(log.log_start_offset)
        offset = share.next_fetch_offset
        upper = log.last_stable_offset if self.settings.is_committed else log.high_watermark
        if not share.can_acquire or offset >= upper:
            return None
        limit = min(wanted.max_bytes, _READ_BYTES)
        plan = log.plan_read(offset, limit, upper_offset=upper, at_least_one=True)
        if plan is None:
            return None
        if not self.settings.is_committed:
            records = plan.read_now()
            if records is not None and not isinstance(records, StoredRecords):
                return self._acquired(wanted, offset, records, _NONE_ABORTED)
        self._reading = True

        def read() -> tuple[Buffer, AbortedRanges]:
            found = plan.read()
            if isinstance(found, StoredRecords):
                raise TypeError("records that were asked for whole are still in their files")
            if not self.settings.is_committed:
                return found, _NONE_ABORTED
            return found, AbortedRanges(log.aborted_transactions(offset, plan.end_offset, read_blocking))

        def over(_: object) -> None:
            self._reading = False
            self._wake()

        done = self._runtime.offload_read(read)
        done.settled().map(over).or_log("reading for share partition %s", self.key)
        return done.map(
            lambda found: None if self.has_ended or wanted.is_over() else self._acquired(wanted, offset, *found)
        )

    def _acquired(self, wanted: Wanted, offset: int, records: Buffer, aborted: AbortedRanges) -> Delivery | None:
        share = self._usable()
        whole = memoryview(records)
        batches = ((position, header) for position, header in iter_batches(whole) if header.last_offset >= offset)
        found = list(islice(batches, _MOST_BATCHES))
        if not found:
            return None
        gone = [(header.base_offset, header.last_offset) for _, header in found if aborted.cover(header)]
        request = AcquireRequest(
            wanted.member,
            offset,
            [(header.base_offset, header.last_offset) for _, header in found],
            wanted.max_records,
            wanted.batch_size,
            strict=wanted.strict,
            aborted=gone,
        )
        acquired = share.acquire(request, self._runtime.clock.monotonic())
        self._arm()
        if not acquired:
            return None
        first, last = acquired[0].first, acquired[-1].last
        kept = [
            (position, header)
            for position, header in found
            if first <= header.last_offset and header.base_offset <= last
        ]
        begin, end = kept[0][0], kept[-1][0] + kept[-1][1].size
        return Delivery(whole[begin:end], acquired)

    def take_back(self, member: str, acquired: Iterable[Acquired]) -> None:
        """A member is not sent what it has acquired: that is available as before."""
        if self._share is not None:
            self._share.take_back(member, acquired)
            self._arm()
            self._wake()

    # Acknowledging

    def acknowledge(self, member: str, batches: list[Acknowledged]) -> Deferred[None]:
        """Carry out acknowledgements; completes when they are persisted.

        Raises, or fails with, KafkaError INVALID_REQUEST, INVALID_RECORD_STATE, NOT_LEADER_OR_FOLLOWER, COORDINATOR_NOT_AVAILABLE,
        GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_SERVER_ERROR.
        """
        share = self._usable()
        share.log_start_moved(self.partition.log_start_offset)
        return self._persist(share.acknowledge(member, batches, self._runtime.clock.monotonic()))

    def release(self, member: str) -> Deferred[None]:
        """A member's session is over: release what it has acquired. Fails as ``acknowledge`` does."""
        if self._share is None:
            return Deferred.completed(None)
        return self._persist(self._share.release(member))

    def _persist(self, change: PendingChange) -> Deferred[None]:
        if not change.batches:
            self._complete(change, persisted=True)
            return Deferred.completed(None)

        def finish(done: Deferred[None]) -> None:
            self._complete(change, persisted=done.error is None)
            _ = done.value

        return self.write(change).fold(finish)

    def write(self, change: PendingChange) -> Deferred[None]:
        """Persist a change; fails as ``acknowledge`` does, and it is the end if another broker may be the leader."""

        def finish(done: Deferred[None]) -> None:
            if isinstance(done.error, KafkaError):
                error = _for_members(done.error, f"Error in write state RPC. {done.error.message}")
                if error.code in _FENCED:
                    self.end()
                raise error from done.error
            _ = done.value

        return attempt(self._states.write, self.key, self._state(change)).fold(finish)

    def _state(self, change: PendingChange) -> ShareState:
        return ShareState(
            state_epoch=self._state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=change.start_offset,
            delivery_complete_count=change.delivery_complete_count,
            batches=tuple(change.batches),
        )

    def _complete(self, change: PendingChange, *, persisted: bool) -> None:
        if self._share is not None:
            given_up = self._share.complete(change, persisted=persisted)
            if given_up:
                self.giving_up.begin(given_up)
            self._arm()
            self._wake()

    def archive(self, given_up: Sequence[GivenUp]) -> PendingChange:
        """Records are archived, with dead letters or without; what to persist of that. Raises KafkaError NOT_LEADER_OR_FOLLOWER."""
        change = self._usable().archive(given_up)
        self._wake()
        return change

    # Time

    def _arm(self) -> None:
        """Set the timer for the first lock that ends."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._share is not None and self._share.wake_at < math.inf and not self.has_ended:
            delay_ms = max(self._share.wake_at - self._runtime.clock.monotonic(), 0) * 1000
            self._timer = self._runtime.timers.after(delay_ms, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._share is None or self.has_ended:
            return
        change = self._share.expire(self._runtime.clock.monotonic())
        if change is not None:
            self.locks_over += sum(each.last - each.first + 1 for each in change.batches)
            written = self.write(change)
            self.attend(written, "persisting locks that are over")
            if change.given_up:
                self.giving_up.begin_with(change, written)
            self._wake()
        self._arm()

    def attend(self, written: Deferred[None], doing: str) -> None:
        """No member waits for a change: the log says if it is not persisted, as when the group was deleted meanwhile."""

        def refused(error: KafkaError) -> None:
            log.warning("Share partition %s: %s failed: %s", self.key, doing, error.message)

        written.recover(KafkaError, refused).or_log("%s of share partition %s", doing, self.key)

    def _usable(self) -> SharePartition:
        """Raises KafkaError NOT_LEADER_OR_FOLLOWER."""
        if self.has_ended or self._share is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self._share


def _for_members(error: KafkaError, message: str | None) -> KafkaError:
    """The error that clients get for one of the share coordinator."""
    return KafkaError(_SHOWN_AS.get(error.code, ErrorCode.UNKNOWN_SERVER_ERROR), message)
