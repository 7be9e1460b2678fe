"""One acquisition of records for a member of a share group: what is available again first, then new records.

A batch is acquired as a whole, even if that is more than the member asks for, unless it asks for a strict limit (KIP-1206) or
its records differ. From half the delivery limit on, fewer records of a batch are delivered at once, and for the last time one
alone, so that a record which its consumers cannot process does not take others with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pykbroker.share_partitions.in_flight import Batch, InFlight, Run
from pykbroker.share_partitions.states import Acquired, Limits, RecordState

#: The delivery count of a record that is isolated as soon as there is any limit to deliveries.
_FEWEST_BEFORE_ISOLATION = 2
#: A request has no room for more; what counts so many is never of a member's making.
_MOST_DELIVERIES = 2**15 - 1


@dataclass(slots=True)
class AcquireRequest:
    """What was read for a member, and how much of it it wants."""

    member: str
    #: Where the log was read.
    fetch_offset: int
    #: First and last offset of each batch that was read, in order; not empty.
    batches: Sequence[tuple[int, int]]
    max_records: int
    #: The number of records that the member wants to acquire, and acknowledge, at once.
    batch_size: int
    #: Whether ``max_records`` is never exceeded (record_limit), or up to the end of a batch (batch_optimized).
    strict: bool = False
    #: First and last offset of batches in aborted transactions, in order.
    aborted: Sequence[tuple[int, int]] = ()

    @property
    def first(self) -> int:
        """The first offset that was read."""
        return self.batches[0][0]


class Acquisition:
    """See the module. ``deadline`` of ``run`` is the end of the lock, in monotonic seconds."""

    def __init__(
        self, in_flight: InFlight, end_offset: int, count: int, limits: Limits, request: AcquireRequest
    ) -> None:
        self._in_flight = in_flight
        self._request = request
        self._max_deliveries = limits.max_deliveries
        self._isolated_from = max(_FEWEST_BEFORE_ISOLATION, math.ceil(limits.max_deliveries / 2))
        #: The end offset afterwards.
        self.end_offset = end_offset
        self._last = request.batches[-1][1]
        self._wanted = min(request.max_records, limits.max_in_flight - count)
        if self._wanted <= 0 and request.fetch_offset < end_offset:
            # Nothing new may be acquired, but what is available again.
            self._wanted = min(request.max_records, end_offset - request.fetch_offset)
            self._last = min(self._last, end_offset - 1)
        self._deadline = math.inf
        self._found: list[Acquired] = []
        self._count = 0

    def run(self, deadline: float) -> list[Acquired]:
        """Acquire, and return what was."""
        self._deadline = deadline
        if self._wanted > 0 and self._acquire_again():
            self._acquire_new()
        return self._found

    # Records that are available again

    def _acquire_again(self) -> bool:
        """Returns whether the member may have new records, too."""
        first = self._request.first
        runs = self._in_flight.among(first, self._last)
        for batch, some in [(batch, list(runs)) for batch, runs in groupby(runs, _batch_of)]:
            if self._count >= self._wanted:
                return False
            available = [run for run in some if run.is_available]
            if not available:
                continue
            isolated = max(run.count for run in available) >= self._isolated_from
            if isolated and self._count:
                return False
            whole = (
                len(some) == 1 and some[0].first == batch.first >= first and some[0].last == batch.last <= self._last
            )
            room = self._wanted - self._count
            if whole and not isolated and not (self._request.strict and available[0].size > room):
                self._take(available[0])
                continue
            before = self._count
            self._acquire_some(batch, available, room)
            if isolated and self._count > before:
                return False
        return True

    def _acquire_some(self, batch: Batch, available: list[Run], room: int) -> None:
        """Acquire records of a batch that is not acquired as a whole."""
        quota = math.inf
        got = 0
        for each in available:
            alone = self._max_deliveries > _FEWEST_BEFORE_ISOLATION and each.count >= self._max_deliveries - 1
            if alone and got:
                return
            if each.count >= self._isolated_from and quota == math.inf:
                size = batch.last - batch.first + 1
                quota = max(1, size >> (each.count - self._isolated_from + 1))
            most = min(quota - got, room - got if self._request.strict else math.inf, 1 if alone else math.inf)
            if most <= 0:
                return
            first = max(each.first, self._request.first)
            last = int(min(each.last, self._last, first + most - 1))
            for run in self._in_flight.cut(first, last):
                self._take(run)
                got += run.size
            if alone:
                return

    def _take(self, run: Run) -> None:
        run.state, run.count = RecordState.ACQUIRED, min(run.count + 1, _MOST_DELIVERIES)
        run.member, run.deadline = self._request.member, self._deadline
        self._note(run.first, run.last, run.count)

    # New records

    def _acquire_new(self) -> None:
        first = max(self._request.first, self.end_offset)
        room = self._wanted - self._count
        last = self._last
        if first > last or room <= 0:
            return
        if room < last - first + 1:
            last = self._end_of_batch(first + room - 1)
        if self._request.strict:
            batch = Batch(first, last)
            acquired = min(last, first + room - 1)
            self._add(first, acquired, batch)
            if acquired < last:
                self._in_flight.append(Run(acquired + 1, last, batch, RecordState.AVAILABLE, 0))
        else:
            for begin, end in self._batches_of(first, last):
                self._add(begin, end, Batch(begin, end))
        self.end_offset = last + 1

    def _add(self, first: int, last: int, batch: Batch) -> None:
        run = Run(first, last, batch, RecordState.ACQUIRED, 1, self._request.member, self._deadline)
        self._in_flight.append(run)
        self._note(first, last, 1)

    def _end_of_batch(self, offset: int) -> int:
        """The end of the batch that has the offset; the offset itself if none has it."""
        for first, last in self._request.batches:
            if first <= offset <= last:
                return last
        return offset

    def _batches_of(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """New records in batches of at least the size that the member wants, whose edges are edges of batches in the log."""
        begin = first
        size = max(self._request.batch_size, 1)  # a stranger may want fewer
        if last - first + 1 > size:
            for base, _ in self._request.batches:
                if base > last:
                    break
                if base - begin >= size:
                    yield begin, base - 1
                    begin = base
        yield begin, last

    def _note(self, first: int, last: int, count: int) -> None:
        self._count += last - first + 1
        self._found.append(Acquired(first, last, count))


def _batch_of(run: Run) -> Batch:
    return run.batch
