"""The result of a coordinator's step, which the runtime carries out.

A state machine never writes and never sends. It returns an Outcome, and the runtime (``runtime.py``) appends the records,
replays them into the state, and carries out effects and sends replies only once the records are committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.partitions.internal_records import CoordinatorBatch

T = TypeVar("T")


class CoordinatorRecord(NamedTuple):
    """A coordinator record in decoded form; a value of None is a tombstone.

    ``producer_id`` is the producer of the transaction that the record belongs to, else -1; ``offset`` is its place in the log
    when it is replayed.
    """

    key: Any
    value: Any
    value_version: int
    producer_id: int = -1
    offset: int = -1


@dataclass(slots=True)
class Outcome:
    """The result of one step; the numbers say in which order the runtime carries it out."""

    #: 1. Appended in one batch, then replayed one by one.
    records: list[CoordinatorRecord] = field(default_factory=list)
    #: 4. Sent last of all; a KafkaError fails the reply.
    replies: list[tuple[Deferred[Any], Any]] = field(default_factory=list)
    #: 2. A further step, on the replayed state.
    then: Callable[[], Outcome] | None = None
    #: 3. Carried out by the coordinator once all records are committed.
    effects: list[Any] = field(default_factory=list)
    #: In place of 2 and 3 if the append fails, with the error code. Without it the replies fail with the code.
    otherwise: Callable[[ErrorCode], Outcome] | None = None
    #: The producer id and epoch under which the records are appended to a transaction.
    producer: tuple[int, int] | None = None
    #: False if the records are independent: they may be appended in several batches.
    atomic: bool = True

    def reply(self, waiting: Deferred[Any] | None, response: Any) -> None:
        """Send ``response`` to the request that waits, if any."""
        if waiting is not None:
            self.replies.append((waiting, response))


class Decision(NamedTuple, Generic[T]):
    """What a step decides for the request that asked (``CoordinatorRuntime.ask``)."""

    #: Sent once the outcome is carried out and committed. A Deferred is completed by a reply, of this outcome or a later one.
    answer: T | Deferred[T]
    outcome: Outcome


class EncodedDecision(NamedTuple, Generic[T]):
    """A Decision whose records, all of the key, are encoded as they are decided, since there are many of their kind. Nothing but the
    answer follows from them.
    """

    answer: T
    batch: CoordinatorBatch
    #: Applies them to the state, as replaying each would.
    replay: Callable[[], None]


@dataclass(slots=True)
class Part:
    """A step of sliced work: independent records, and the weight of finding and appending them
    (``runtime/slices.py``).
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    weight: float = 0.0
