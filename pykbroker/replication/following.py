"""A follower's place in its leader's log, in one leader epoch: where it fetches, and what it does with each answer.

A log that diverges is cut to the largest end that both logs have of a common epoch, never to a high watermark (KIP-101, KIP-279,
KIP-595): the leader names an epoch and its end in it, and if this log does not have that epoch, the next fetch asks again from the
epoch before.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple, Protocol

from pykbroker.wire.errors import ErrorCode

NO_EPOCH = -1


class ReplicaLog(Protocol):
    """What a follower's decisions need to know of its log."""

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        ...

    @property
    def high_watermark(self) -> int:
        """The offset before which everything is known to be committed."""
        ...

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last batch, -1 if none is known."""
        ...

    def end_offset_for_epoch(self, epoch: int, /) -> tuple[int, int]:
        """The largest epoch not above ``epoch``, and its end offset; -1 for both if there is none."""
        ...


class FetchPlace(NamedTuple):
    """What a fetch says of a partition."""

    leader_epoch: int
    offset: int
    last_fetched_epoch: int


class FollowerStep(Enum):
    """What to do next."""

    #: Nothing: the answer is for a place where this replica is no more.
    IGNORE = auto()
    #: Append the records, then call ``appended``.
    APPEND = auto()
    #: Truncate the log to ``FollowerDecision.offset``, then call ``moved``.
    TRUNCATE = auto()
    #: Drop the whole log and begin at ``FollowerDecision.offset``, then call ``moved``.
    START_OVER = auto()
    #: Ask the leader for its first and last offset, then call ``leader_has``.
    ASK_OFFSETS = auto()
    #: Fetch again after ``replica.fetch.backoff.ms``.
    BACK_OFF = auto()
    #: Fetch no more: the metadata will say who leads.
    STOP = auto()


class FollowerDecision(NamedTuple):
    """A step, with its offset where it has one."""

    step: FollowerStep
    offset: int = -1


class Following:
    """See the module."""

    __slots__ = ("_busy", "_log", "last_fetched_epoch", "leader_epoch", "offset", "stopped")

    def __init__(self, leader_epoch: int, log: ReplicaLog) -> None:
        self.leader_epoch = leader_epoch
        self._log = log
        self._busy = False
        self.stopped = False
        self.offset = log.log_end_offset
        self.last_fetched_epoch = log.latest_epoch

    def begin(self) -> FollowerDecision | None:
        """What to do before the first fetch: a log whose batches have no epochs is cut to its high watermark, since nothing else is known
        to be common.
        """
        log = self._log
        if self.last_fetched_epoch == NO_EPOCH and log.high_watermark < log.log_end_offset:
            self._busy = True
            return FollowerDecision(FollowerStep.TRUNCATE, log.high_watermark)
        return None

    @property
    def place(self) -> FetchPlace | None:
        """The place to fetch from; None while the log is changed, or if there is no more to fetch in this epoch."""
        if self._busy or self.stopped:
            return None
        return FetchPlace(self.leader_epoch, self.offset, self.last_fetched_epoch)

    def answered(self, origin: FetchPlace, code: int, diverging: tuple[int, int] | None) -> FollowerDecision:
        """An answer to a fetch from ``origin`` has come; ``diverging`` is the leader's epoch and its end if the logs differ."""
        if origin != self.place:
            return FollowerDecision(FollowerStep.IGNORE)
        if code == ErrorCode.NONE:
            return FollowerDecision(FollowerStep.APPEND) if diverging is None else self._cut(*diverging)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return FollowerDecision(FollowerStep.ASK_OFFSETS)
        if code == ErrorCode.FENCED_LEADER_EPOCH:
            self.stopped = True
            return FollowerDecision(FollowerStep.STOP)
        return FollowerDecision(FollowerStep.BACK_OFF)

    def _cut(self, leader_epoch: int, leader_end: int) -> FollowerDecision:
        """Truncate to what both logs have. With an epoch that this log lacks it is the end of the epoch before, and the next fetch goes on
        from there.
        """
        if leader_end < 0:
            return FollowerDecision(FollowerStep.BACK_OFF)
        log, self._busy = self._log, True
        own_epoch, own_end = log.end_offset_for_epoch(leader_epoch)
        if own_epoch == NO_EPOCH:
            common = leader_end
        elif own_epoch == leader_epoch:
            common = min(own_end, leader_end)
        else:
            common = own_end
        return FollowerDecision(FollowerStep.TRUNCATE, min(common, log.log_end_offset))

    def leader_has(self, origin: FetchPlace, start: int, end: int) -> FollowerDecision:
        """The leader's log has ``start`` to ``end``, and ``origin`` was out of its range: a log that is longer is cut, one that ends before
        begins anew; else the leader has changed meanwhile, and the same fetch may succeed.
        """
        if origin != self.place:
            return FollowerDecision(FollowerStep.IGNORE)
        own_end = self._log.log_end_offset
        if end < 0:
            return FollowerDecision(FollowerStep.BACK_OFF)
        if end < own_end:
            self._busy = True
            return FollowerDecision(FollowerStep.TRUNCATE, end)
        if start > own_end:
            self._busy = True
            return FollowerDecision(FollowerStep.START_OVER, start)
        return FollowerDecision(FollowerStep.BACK_OFF)

    def appended(self) -> None:
        """Records were appended, or there were none."""
        self._at_end()

    def moved(self) -> bool:
        """The log was truncated, or begins anew; whether the next fetch is from another place."""
        before = self.offset, self.last_fetched_epoch
        self._busy = False
        self._at_end()
        return before != (self.offset, self.last_fetched_epoch)

    def _at_end(self) -> None:
        self.offset = self._log.log_end_offset
        self.last_fetched_epoch = self._log.latest_epoch
