"""The records of a share partition between its start and its end offset, as runs of records that share their state.

A run is part of a batch, which was acquired as a whole; it is cut only where records of the batch differ, and runs of a
batch that are alike again are joined. So a batch costs one run as long as its records share a state.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from pykbroker.coordination.share.state import StateBatch
from pykbroker.share_partitions.states import GivenUp, RecordState


class Batch(NamedTuple):
    """Offsets that were acquired together, or persisted together, ``first`` to ``last`` (inclusive)."""

    first: int
    last: int


@dataclass(slots=True, eq=False)
class PendingChange:
    """Transitions that are being persisted. Until then their records keep their states and cannot be changed."""

    #: What to persist, as the coordinator's WriteShareGroupState has it.
    start_offset: int
    delivery_complete_count: int = 0
    batches: list[StateBatch] = field(default_factory=list)
    #: The runs in transition.
    runs: list[Run] = field(default_factory=list)
    #: What waits for its dead letters once the change is persisted; known when it is carried out.
    given_up: list[GivenUp] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Run:
    """Offsets ``first`` to ``last`` (inclusive) of ``batch`` in one state."""

    first: int
    last: int
    batch: Batch
    state: RecordState
    #: Deliveries so far, the present one included.
    count: int
    #: The member that has acquired the records, else empty.
    member: str = ""
    #: The end of the acquisition lock, in monotonic seconds.
    deadline: float = math.inf
    #: The change that is being persisted, and what it makes of the records.
    change: PendingChange | None = None
    next_state: RecordState = RecordState.AVAILABLE
    next_count: int = 0
    #: Why the records are given up, or are about to be: a member has rejected them.
    rejected: bool = False

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.last - self.first + 1

    @property
    def is_available(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.change is None

    @property
    def is_final(self) -> bool:
        """Whether the start offset may pass the records: a change of them counts once it is persisted."""
        return self.change is None and self.state.is_final

    def put(self, state: RecordState, count: int) -> None:
        """Put the records into a state in which nobody has acquired them."""
        self.state, self.count = state, count
        self.rejected = self.rejected and state is RecordState.ARCHIVING
        self.member, self.deadline, self.change = "", math.inf, None

    def given_up(self) -> GivenUp:
        """As what waits for its dead letters."""
        return GivenUp(self.first, self.last, self.count, self.rejected)

    def cut_off(self, offset: int) -> Run:
        """Cut it before an offset; returns the rest."""
        rest = Run(
            offset,
            self.last,
            self.batch,
            self.state,
            self.count,
            self.member,
            self.deadline,
            self.change,
            self.next_state,
            self.next_count,
            self.rejected,
        )
        self.last = offset - 1
        return rest

    def is_like(self, other: Run) -> bool:
        """Whether ``other`` follows at once and differs in nothing."""
        return (
            self.batch == other.batch
            and self.last + 1 == other.first
            and self.state is other.state
            and self.count == other.count
            and self.member == other.member
            and self.deadline == other.deadline
            and self.rejected == other.rejected
            and self.change is other.change is None
        )


class InFlight:
    """Runs in the order of their offsets; offsets between them do not exist in the log."""

    __slots__ = ("_runs",)

    def __init__(self, runs: list[Run]) -> None:
        self._runs = runs

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def first(self) -> Run:
        return self._runs[0]

    @property
    def last(self) -> Run:
        return self._runs[-1]

    def among(self, first: int, last: int) -> list[Run]:
        """The runs with any of these offsets."""
        begin = self._at(first)
        end = begin
        while end < len(self._runs) and self._runs[end].first <= last:
            end += 1
        return self._runs[begin:end]

    def cut(self, first: int, last: int) -> list[Run]:
        """The runs of exactly these offsets; those at the edges are cut."""
        self._cut_before(first)
        self._cut_before(last + 1)
        return self.among(first, last)

    def append(self, run: Run) -> None:
        """Add a run after all others."""
        self._runs.append(run)

    def join(self, first: int, last: int) -> None:
        """Join runs of a batch that are alike, from ``first`` to ``last`` and at both edges."""
        begin = max(self._at(first) - 1, 0)
        joined: list[Run] = []
        end = begin
        while end < len(self._runs) and self._runs[end].first <= last + 1:
            run = self._runs[end]
            if joined and joined[-1].is_like(run):
                joined[-1].last = run.last
            else:
                joined.append(run)
            end += 1
        if end - begin > len(joined):
            self._runs[begin:end] = joined

    def drop_before(self, offset: int) -> None:
        """Forget everything before an offset."""
        self._cut_before(offset)
        index = self._at(offset)
        for run in self._runs[:index]:
            if run.change is not None:
                run.change.runs.remove(run)
        del self._runs[:index]

    def drop_final(self) -> int | None:
        """Forget the runs at the beginning that the start offset may pass; the last offset of them."""
        count = 0
        while count < len(self._runs) and self._runs[count].is_final:
            count += 1
        if not count:
            return None
        last = self._runs[count - 1].last
        del self._runs[:count]
        return last

    def _at(self, offset: int) -> int:
        """The index of the first run that ends at or after an offset."""
        return bisect_left(self._runs, offset, key=_last)

    def _cut_before(self, offset: int) -> None:
        index = self._at(offset)
        if index == len(self._runs) or self._runs[index].first >= offset:
            return
        run = self._runs[index]
        rest = run.cut_off(offset)
        if run.change is not None:
            run.change.runs.append(rest)
        self._runs.insert(index + 1, rest)


def _last(run: Run) -> int:
    return run.last
