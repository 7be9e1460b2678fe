"""What a step of a coordinator asks of its runtime.

A state machine never writes and never sends. It returns an Outcome, and the runtime (``runtime.py``) keeps the order
that makes a coordinator safe: records are appended first, then replayed into the state, and only when they are committed
are effects carried out and replies sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode


class CoordinatorRecord(NamedTuple):
    """A coordinator record in decoded form, as its codec knows it; a value of None is a tombstone.

    ``producer_id`` is that of the producer in whose transaction the record stands, else -1.
    """

    key: Any
    value: Any
    value_version: int
    producer_id: int = -1


@dataclass(slots=True)
class Outcome:
    """What is to come of one step, in the order in which the runtime carries it out."""

    #: 1. Appended in one batch, then replayed one by one.
    records: list[CoordinatorRecord] = field(default_factory=list)
    #: 4. Sent last of all; a KafkaError fails the reply.
    replies: list[tuple[Deferred[Any], Any]] = field(default_factory=list)
    #: 2. A further step that builds on the replayed records.
    then: Callable[[], Outcome] | None = None
    #: 3. Carried out once all records are committed; what an effect is, is the coordinator's own business.
    effects: list[Any] = field(default_factory=list)
    #: Instead of 1 to 3, when the append fails with this code. Without it the replies fail with the code.
    otherwise: Callable[[ErrorCode], Outcome] | None = None
    #: Id and epoch of the producer in whose transaction the records are appended.
    producer: tuple[int, int] | None = None
    #: False where each of the records stands for itself: they are appended in as many batches as they need.
    atomic: bool = True

    def reply(self, waiting: Deferred[Any] | None, response: Any) -> None:
        """Send ``response`` to whoever waits, if anyone does."""
        if waiting is not None:
            self.replies.append((waiting, response))


@dataclass(slots=True)
class Part:
    """A step of work that is done in slices: records of which each stands for itself, and what they and the search for
    them weigh (``slices.py``).
    """

    records: list[CoordinatorRecord] = field(default_factory=list)
    weight: float = 0.0
