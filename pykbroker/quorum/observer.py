"""An observer's place in the metadata log of a quorum: whom it asks, and what it does with each answer.

One request is under way. It goes to the leader, or to the bootstrap servers in turn until one of them names it. Epochs never fall: an
answer of an earlier one is of a node that has missed an election. What is below the high watermark is never cut; a log that would have
to be is not that of this quorum. Rules: KafkaRaftClient of Kafka 4.4.0, as an observer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from pykbroker.metadata.snapshot import SnapshotId
from pykbroker.wire.errors import ErrorCode, error_code

NO_LEADER = -1
ANOTHER_CLUSTER = "the controllers are of another cluster: name those of this one, or a log directory that is formatted with the id of theirs"


class Address(NamedTuple):
    """Where a controller listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class ObservedLog(Protocol):
    """What the decisions need to know of the copy of the log."""

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        ...

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, in the log or in the snapshot before it; 0 if there is none."""
        ...

    def end_offset_for_epoch(self, epoch: int, /) -> tuple[int, int]:
        """The largest epoch not above ``epoch``, and its end offset; -1 for both if there is none."""
        ...


class FetchAsk(NamedTuple):
    """A Fetch of the metadata log."""

    address: Address
    leader_epoch: int
    offset: int
    last_fetched_epoch: int
    high_watermark: int


class SnapshotAsk(NamedTuple):
    """A FetchSnapshot from ``position`` on."""

    address: Address
    leader_epoch: int
    snapshot: SnapshotId
    position: int


class QuorumAnswer(NamedTuple):
    """What an answer to either says: its error, and the leader that its sender knows, -1 for none."""

    error: int
    leader_id: int = NO_LEADER
    leader_epoch: int = -1
    endpoints: Mapping[int, Address] = {}


class FetchedLog(NamedTuple):
    """What else an answer to a Fetch says: at most one of both, where this log is not the leader's up to its end."""

    #: An epoch and its end in the leader's log.
    diverging: tuple[int, int] | None = None
    #: The snapshot to take in place of what the leader no longer has.
    snapshot: SnapshotId | None = None


class FetchedPiece(NamedTuple):
    """What else an answer to a FetchSnapshot says: the size of the snapshot, and the place of the bytes that came."""

    size: int
    position: int
    length: int


class ObserverStep(Enum):
    """What to do next."""

    #: Append the records, then ask again.
    APPEND = auto()
    #: Truncate the log to ``ObserverDecision.offset``, then call ``changed``.
    TRUNCATE = auto()
    #: Keep the bytes of a snapshot, then ask for more.
    KEEP = auto()
    #: Keep them, put the snapshot in place of the log, then call ``changed``.
    INSTALL = auto()
    #: Ask again at once.
    AGAIN = auto()
    #: Ask again after ``controller.quorum.retry.backoff.ms``; with a reason that is no passing one, say it.
    BACK_OFF = auto()
    #: Ask no more, since ``ObserverDecision.reason``.
    END = auto()


class ObserverDecision(NamedTuple):
    """A step, with its offset or reason where it has one."""

    step: ObserverStep
    offset: int = -1
    reason: str = ""


_AGAIN = ObserverDecision(ObserverStep.AGAIN)
_BACK_OFF = ObserverDecision(ObserverStep.BACK_OFF)


class Observer:
    """See the module. ``servers`` are controller.quorum.bootstrap.servers, or those of the ``voters`` where these are static;
    ``epoch`` is the last one that this node knew, and ``high_watermark`` the end of its newest snapshot.
    """

    def __init__(
        self,
        log: ObservedLog,
        servers: Sequence[Address],
        voters: Mapping[int, Address] | None = None,
        *,
        epoch: int = 0,
        high_watermark: int = 0,
    ) -> None:
        self._log = log
        self._servers = servers
        self._voters = voters or {}
        self._turn = 0
        self.epoch = epoch
        self.leader_id = NO_LEADER
        #: Where the leader is asked; None while it is unknown or does not answer.
        self.leader: Address | None = None
        self.high_watermark = high_watermark
        #: The snapshot under way, and how much of it is kept.
        self.snapshot: SnapshotId | None = None
        self._position = 0
        self._busy = False

    @property
    def ask(self) -> FetchAsk | SnapshotAsk | None:
        """The next request; None while the log is changed."""
        if self._busy:
            return None
        if self.snapshot is not None and self.leader is not None:
            return SnapshotAsk(self.leader, self.epoch, self.snapshot, self._position)
        address = self.leader or self._servers[self._turn % len(self._servers)]
        return FetchAsk(address, self.epoch, self._log.end_offset, self._log.last_epoch, self.high_watermark)

    def failed(self) -> None:
        """Who was asked does not answer, or nothing that can be used: ask others who leads."""
        self.snapshot = None
        if self.leader is None:
            self._turn += 1
        self.leader = None

    def fetched(self, answer: QuorumAnswer, content: FetchedLog) -> ObserverDecision:
        """An answer to a Fetch has come."""
        refused = self._check(answer)
        if refused is not None:
            return refused
        if content.diverging is not None:
            return self._cut(*content.diverging)
        if content.snapshot is not None:
            if content.snapshot.offset < self.high_watermark:
                return self._contradicted(content.snapshot.offset)
            self.snapshot, self._position = content.snapshot, 0
            return _AGAIN
        return ObserverDecision(ObserverStep.APPEND)

    def fetched_piece(self, answer: QuorumAnswer, piece: FetchedPiece) -> ObserverDecision:
        """An answer to a FetchSnapshot has come. A snapshot that the leader no longer has, or has otherwise, is given up: the next
        Fetch names one.
        """
        refused = self._check(answer)
        if refused is not None:
            return refused
        ends = self._position + piece.length
        if self.snapshot is None or piece.position != self._position or not piece.length or ends > piece.size:
            self.snapshot = None
            return _BACK_OFF
        self._position = ends
        if ends < piece.size:
            return ObserverDecision(ObserverStep.KEEP)
        self._busy = True
        return ObserverDecision(ObserverStep.INSTALL, self.snapshot.offset)

    def committed(self, leader_mark: int) -> int:
        """The high watermark, once the answer with ``leader_mark`` is appended."""
        self.high_watermark = max(self.high_watermark, min(leader_mark, self._log.end_offset))
        return self.high_watermark

    def changed(self) -> None:
        """The log is truncated, or begins anew after the snapshot, which has committed records only."""
        self._busy = False
        if self.snapshot is not None:
            self.high_watermark = self.snapshot.offset
            self.snapshot = None

    def _check(self, answer: QuorumAnswer) -> ObserverDecision | None:
        """Note the leader that an answer names; what to do if it has nothing else."""
        if answer.error == ErrorCode.INCONSISTENT_CLUSTER_ID:
            return ObserverDecision(ObserverStep.END, reason=ANOTHER_CLUSTER)
        if answer.leader_epoch < self.epoch:
            self.failed()
            return _BACK_OFF
        is_news = self._note_leader(answer)
        if answer.error == ErrorCode.NONE:
            return None
        if is_news:
            return _AGAIN
        if answer.error in _OF_THE_SNAPSHOT:
            self.snapshot = None
            return _BACK_OFF
        self.failed()
        return _BACK_OFF if answer.error in _OF_ELECTIONS else _wrong(f"it answers {error_code(answer.error).name}")

    def _note_leader(self, answer: QuorumAnswer) -> bool:
        """Whether an answer names another leader than was asked."""
        if answer.leader_epoch > self.epoch:
            self.epoch, self.leader_id, self.leader, self.snapshot = answer.leader_epoch, NO_LEADER, None, None
        if answer.leader_id < 0 or self.leader is not None:
            return False
        self.leader_id = answer.leader_id
        self.leader = answer.endpoints.get(answer.leader_id) or self._voters.get(answer.leader_id)
        return self.leader is not None

    def _cut(self, leader_epoch: int, leader_end: int) -> ObserverDecision:
        """Truncate to what both logs have, as ``Following`` does."""
        if leader_epoch < 0 or leader_end < 0:
            self.failed()
            return _wrong(f"it says that both logs part in epoch {leader_epoch} at offset {leader_end}")
        own_epoch, own_end = self._log.end_offset_for_epoch(leader_epoch)
        common = min(own_end, leader_end) if own_epoch == leader_epoch else max(own_end, 0)
        if common < self.high_watermark:
            return self._contradicted(common)
        if common >= self._log.end_offset:  # nothing to cut: both would say the same again
            self.failed()
            return _wrong(f"it says that both logs part at the end of this one, {common}")
        self._busy = True
        return ObserverDecision(ObserverStep.TRUNCATE, common)

    def _contradicted(self, offset: int) -> ObserverDecision:
        return ObserverDecision(
            ObserverStep.END,
            reason=f"the leader's metadata log parts from this node's at offset {offset}, before {self.high_watermark}, up to which it was "
            "committed",
        )


def _wrong(reason: str) -> ObserverDecision:
    return ObserverDecision(ObserverStep.BACK_OFF, reason=reason)


_OF_ELECTIONS = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.BROKER_NOT_AVAILABLE,
)
_OF_THE_SNAPSHOT = (
    ErrorCode.SNAPSHOT_NOT_FOUND,
    ErrorCode.POSITION_OUT_OF_RANGE,
    ErrorCode.OFFSET_OUT_OF_RANGE,
)
