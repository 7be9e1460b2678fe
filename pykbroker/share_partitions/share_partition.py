"""A share partition: which records of a partition a share group has in flight, and in which state (KIP-932).

    AVAILABLE --acquire--> ACQUIRED --accept--> ACKNOWLEDGED
        ^                     | release, lock over, session over
        +---------------------+ or, at the delivery limit, as with reject:  ARCHIVED (by way of ARCHIVING with dead letters)

Records before the start offset are done with, records from the end offset on were never acquired. An acknowledgement is
two steps: ``acknowledge`` checks it and returns a Change for the coordinator to persist, ``complete`` carries it out or takes
it back. A lock that is over is released whether that can be persisted or not. Acquiring is not persisted: after a restart
the records are available again, with the delivery count that was persisted last.

It is pure: time is given in monotonic seconds, and the caller reads the log. Source of the rules: Apache Kafka 4.4.0's
SharePartition.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

from pykbroker.coordination.share.state import StateBatch
from pykbroker.share_partitions.acquiring import AcquireRequest, Acquisition
from pykbroker.share_partitions.in_flight import Batch, InFlight, PendingChange, Run
from pykbroker.share_partitions.states import (
    BECOMES,
    Acknowledge,
    Acknowledged,
    Acquired,
    GivenUp,
    Limits,
    RecordState,
)
from pykbroker.wire.errors import ErrorCode, KafkaError

_last_of = itemgetter(1)


class SharePartition:
    """See the module. ``limits`` returns the present settings; ``state`` is what was persisted. Raises KafkaError UNKNOWN_SERVER_ERROR for
    a state of records that there is not.
    """

    def __init__(self, limits: Callable[[], Limits], start_offset: int, state: Iterable[StateBatch] = ()) -> None:
        self._limits = limits
        #: No record before it is delivered any more.
        self.start_offset = start_offset
        self.in_flight = InFlight(list(_restored(start_offset, state)))
        #: The offset after the last record that was ever acquired.
        self.end_offset = self.in_flight.last.last + 1 if self.in_flight else start_offset
        #: When ``expire`` has something to do, in monotonic seconds; no later than that.
        self.wake_at = math.inf
        self._may_be_available = bool(self.in_flight)
        self._move_start()

    # Questions

    @property
    def next_fetch_offset(self) -> int:
        """Where to read the log: at the first available record, else at the end."""
        if self._may_be_available:
            for run in self.in_flight:
                if run.is_available:
                    return run.first
            self._may_be_available = False
        return self.end_offset

    @property
    def in_flight_count(self) -> int:
        """The number of offsets between start and end."""
        return self.end_offset - self.start_offset if self.in_flight else 0

    @property
    def can_acquire(self) -> bool:
        """Whether records may be acquired: some are available again, or fewer than the limit are in flight."""
        return self.next_fetch_offset < self.end_offset or self.in_flight_count < self._limits().max_in_flight

    @property
    def delivery_complete_count(self) -> int:
        """The number of offsets in flight that are acknowledged or given up."""
        return sum(run.size for run in self.in_flight if (run.state if run.change is None else run.next_state).is_final)

    def archiving(self) -> list[GivenUp]:
        """Records that are given up and wait for their dead letters. Of those that were read with the state, the count tells why."""
        most = self._limits().max_deliveries
        return [
            run.given_up()._replace(rejected=run.rejected or run.count < most)
            for run in self.in_flight
            if run.state is RecordState.ARCHIVING and run.change is None
        ]

    # Acquiring

    def acquire(self, request: AcquireRequest, now: float) -> list[Acquired]:
        """Acquire records that were read for a member, those that are available again and new ones."""
        limits = self._limits()
        if request.fetch_offset < request.first:
            self._archive(request.fetch_offset, request.first - 1)  # compacted away meanwhile
        acquisition = Acquisition(self.in_flight, self.end_offset, self.in_flight_count, limits, request)
        deadline = now + limits.lock_duration_ms / 1000
        found = acquisition.run(deadline)
        self.end_offset = max(self.end_offset, acquisition.end_offset)
        if found:
            self.wake_at = min(self.wake_at, deadline)
        for each in found:
            self._give_up(each, request.aborted)
        self._may_be_available |= request.strict
        if found:
            self.in_flight.join(found[0].first, found[-1].last)
        self._move_start()
        return [part for each in found for part in _without(each, request.aborted)]

    def take_back(self, member: str, acquired: Iterable[Acquired]) -> None:
        """A member is not sent what it has acquired: that is available as before, and was no delivery."""
        for each in acquired:
            for run in self.in_flight.cut(each.first, each.last):
                is_this = run.member == member and run.count == each.deliveries
                if is_this and run.state is RecordState.ACQUIRED and run.change is None:
                    run.put(RecordState.AVAILABLE, run.count - 1)
                    self._may_be_available = True
            self.in_flight.join(each.first, each.last)
        self._watch()

    def _archive(self, first: int, last: int) -> None:
        for run in self.in_flight.cut(first, last):
            if run.is_available:
                run.put(RecordState.ARCHIVED, run.count)
        self.in_flight.join(first, last)

    def _give_up(self, acquired: Acquired, aborted: Sequence[tuple[int, int]]) -> None:
        """Of records just acquired, archive those of aborted transactions."""
        for begin, end in _within(acquired, aborted):
            for run in self.in_flight.cut(begin, end):
                run.put(RecordState.ARCHIVED, run.count)
            self.in_flight.join(begin, end)

    # Acknowledging

    def acknowledge(self, member: str, batches: Iterable[Acknowledged], now: float) -> PendingChange:
        """Check acknowledgements and begin to carry them out; locks are renewed at once.

        Raises KafkaError INVALID_REQUEST for offsets that were never acquired and unknown types, and INVALID_RECORD_STATE for
        records that the member does not hold; then nothing has changed but renewed locks.
        """
        limits = self._limits()
        change = PendingChange(self.start_offset)
        try:
            for batch in batches:
                self._acknowledge(change, member, batch, now + limits.lock_duration_ms / 1000, limits)
        except KafkaError:
            self.complete(change, persisted=False)
            raise
        return self._begun(change)

    def release(self, member: str) -> PendingChange:
        """A member's session is over: begin to release what it has acquired."""
        limits = self._limits()
        change = PendingChange(self.start_offset)
        for run in self.in_flight:
            if run.member == member and run.state is RecordState.ACQUIRED and run.change is None:
                _begin(change, run, _released(run.count, limits), run.count)
        return self._begun(change)

    def archive(self, given_up: Iterable[GivenUp]) -> PendingChange:
        """Archive records whose dead letters are written, or cannot be; what to persist of that."""
        change = PendingChange(self.start_offset)
        for each in given_up:
            for run in self.in_flight.cut(each.first, each.last):
                if run.state is RecordState.ARCHIVING and run.change is None:
                    run.put(RecordState.ARCHIVED, run.count)
                    change.batches.append(StateBatch(run.first, run.last, run.state, run.count))
            self.in_flight.join(each.first, each.last)
        change.delivery_complete_count = self.delivery_complete_count
        self._move_start()
        return change

    def complete(self, change: PendingChange, *, persisted: bool) -> list[GivenUp]:
        """Carry out a change that was persisted, or take it back; returns what waits for dead letters now. Locks that ended
        meanwhile are left to ``expire``.
        """
        runs = sorted(change.runs, key=_first)
        for run in runs:
            if persisted:
                run.put(run.next_state, run.next_count)
            else:
                run.change = None
                run.rejected = False
            if run.state is RecordState.ARCHIVING:
                change.given_up.append(run.given_up())
        if runs:
            self._may_be_available = True
            self.in_flight.join(runs[0].first, runs[-1].last)
        change.runs.clear()
        self._move_start()
        self._watch()
        return change.given_up

    def _acknowledge(
        self, change: PendingChange, member: str, batch: Acknowledged, deadline: float, limits: Limits
    ) -> None:
        if batch.last < self.start_offset:
            return  # done with since it was acquired
        self._check_known(batch)
        try:
            for first, last, kind in _ranges(batch, self.start_offset):
                for run in self.in_flight.among(first, last):
                    _check_held(run, member)
                for run in self.in_flight.cut(first, last):
                    if kind is Acknowledge.RENEW:
                        run.deadline = deadline
                    else:
                        _begin(change, run, _acknowledged(kind, run.count, limits), run.count)
                        run.rejected = kind is Acknowledge.REJECT and limits.dead_letters
        finally:
            if Acknowledge.RENEW in batch.types:  # also those before an error are renewed
                self.in_flight.join(batch.first, batch.last)

    def _check_known(self, batch: Acknowledged) -> None:
        """As Kafka: an error for offsets before all that is in flight, another for offsets after it."""
        if not self.in_flight:
            raise KafkaError(
                ErrorCode.INVALID_RECORD_STATE,
                "Batch record not found. The request batch offsets are not found in the cache.",
            )
        last = self.in_flight.last.last
        if last < batch.last:
            raise _past("first" if last < batch.first else "last")

    def _begun(self, change: PendingChange) -> PendingChange:
        change.runs.sort(key=_first)
        change.delivery_complete_count = self.delivery_complete_count
        change.batches = [StateBatch(run.first, run.last, run.next_state, run.next_count) for run in change.runs]
        return change

    # Time, and the log's start

    def expire(self, now: float) -> PendingChange | None:
        """Release the records whose locks are over; what to persist of that, if anything."""
        if now < self.wake_at:
            return None
        limits = self._limits()
        change = PendingChange(self.start_offset)
        for run in self.in_flight:
            if run.deadline <= now and run.state is RecordState.ACQUIRED and run.change is None:
                state = _released(run.count, limits)
                run.put(state, run.count)
                change.batches.append(StateBatch(run.first, run.last, run.state, run.count))
                if state is RecordState.ARCHIVING:
                    change.given_up.append(run.given_up())
        if change.batches:
            self._may_be_available = True
            change.delivery_complete_count = self.delivery_complete_count
            self.in_flight.join(change.batches[0].first, change.batches[-1].last)
            self._move_start()
        self._watch()
        return change if change.batches else None

    def log_start_moved(self, offset: int) -> None:
        """Records before ``offset`` are not in the log any more."""
        if offset <= self.start_offset:
            return
        self.in_flight.drop_before(offset)
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset)
        self._move_start()

    def _watch(self) -> None:
        self.wake_at = min(
            (run.deadline for run in self.in_flight if run.state is RecordState.ACQUIRED and run.change is None),
            default=math.inf,
        )

    def _move_start(self) -> None:
        """Move the start offset over all that is done with, and over offsets that the log does not have."""
        last = self.in_flight.drop_final()
        if last is not None:
            self.start_offset = last + 1
        if self.in_flight:
            self.start_offset = max(self.start_offset, self.in_flight.first.first)
        elif last is not None:
            self.end_offset = self.start_offset


def _restored(start_offset: int, state: Iterable[StateBatch]) -> Iterable[Run]:
    """The runs of persisted state. What lies between was acquired and never acknowledged: it is available."""
    expected = start_offset
    for begin, last, kept, count in state:
        first = max(begin, start_offset)
        if first > last:
            continue
        if first > expected:
            yield Run(expected, first - 1, Batch(expected, first - 1), RecordState.AVAILABLE, 0)
        yield Run(first, last, Batch(first, last), _state_of(kept), count)
        expected = last + 1


def _state_of(kept: int) -> RecordState:
    try:
        return RecordState(kept)
    except ValueError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Unknown record state id: {kept}") from error


def _begin(change: PendingChange, run: Run, state: RecordState, count: int) -> None:
    run.change, run.next_state, run.next_count = change, state, count
    change.runs.append(run)


def _given_up(limits: Limits) -> RecordState:
    return RecordState.ARCHIVING if limits.dead_letters else RecordState.ARCHIVED


def _released(count: int, limits: Limits) -> RecordState:
    return RecordState.AVAILABLE if count < limits.max_deliveries else _given_up(limits)


def _acknowledged(kind: Acknowledge, count: int, limits: Limits) -> RecordState:
    if kind is Acknowledge.RELEASE:
        return _released(count, limits)
    return _given_up(limits) if kind is Acknowledge.REJECT else BECOMES[kind]


def _check_held(run: Run, member: str) -> None:
    """Raises KafkaError INVALID_RECORD_STATE."""
    whole = run.batch == (run.first, run.last)
    if run.state is not RecordState.ACQUIRED:
        message = "The offset cannot be acknowledged. The offset is not acquired."
        if whole:
            message = "The batch cannot be acknowledged. The batch is not in the acquired state."
    elif run.member != member:
        message = f"Member is not the owner of {'batch record' if whole else 'offset'}"
    elif run.change is not None:
        message = "The record state is invalid. The acknowledgement of delivery could not be completed."
    else:
        return
    raise KafkaError(ErrorCode.INVALID_RECORD_STATE, message)


def _ranges(batch: Acknowledged, start_offset: int) -> Iterable[tuple[int, int, Acknowledge]]:
    """The offsets of a batch that are acknowledged alike, from the start offset on. Raises KafkaError INVALID_REQUEST."""
    first = max(batch.first, start_offset)
    try:
        kinds = [Acknowledge(kind) for kind in batch.types]
    except ValueError:
        message = f"Invalid acknowledge type: {batch.types}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message) from None
    if len(kinds) == 1:
        yield first, batch.last, kinds[0]
        return
    begin = first
    for offset in range(first + 1, batch.last + 1):
        if kinds[offset - batch.first] is not kinds[begin - batch.first]:
            yield begin, offset - 1, kinds[begin - batch.first]
            begin = offset
    yield begin, batch.last, kinds[begin - batch.first]


def _past(which: str) -> KafkaError:
    message = f"Batch record not found. The {which} offset in request is past acquired records."
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _within(acquired: Acquired, ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of ranges of offsets, which are in order, that lie in acquired records."""
    for index in range(bisect_left(ranges, acquired.first, key=_last_of), len(ranges)):
        first, last = ranges[index]
        if first > acquired.last:
            return
        yield max(first, acquired.first), min(last, acquired.last)


def _without(acquired: Acquired, gone: Sequence[tuple[int, int]]) -> Iterable[Acquired]:
    """What remains of acquired records without those of aborted transactions, which are in the order of offsets."""
    begin = acquired.first
    for first, last in _within(acquired, gone):
        if first > begin:
            yield Acquired(begin, first - 1, acquired.deliveries)
        begin = last + 1
    if begin <= acquired.last:
        yield Acquired(begin, acquired.last, acquired.deliveries)


def _first(run: Run) -> int:
    return run.first
