"""What a step of a coordinator asks of its shell.

A state machine never writes and never sends. It returns an Outcome, and the shell keeps the order that makes a
coordinator safe: records are appended first, then replayed into the state, and only then are the replies sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode


class Record(NamedTuple):
    """A coordinator record in decoded form: the key's class says its type, a value of None is a tombstone.

    ``producer_id`` is that of the producer in whose transaction the record stands, else -1.
    """

    key: Any
    value: Any
    value_version: int
    producer_id: int = -1


@dataclass(slots=True)
class Outcome:
    """Effects of one step, in the order in which the shell carries them out."""

    #: 1. Appended in one batch, then replayed one by one.
    records: list[Record] = field(default_factory=list)
    #: 2. Sent once the records are down.
    replies: list[tuple[Deferred[Any], Any]] = field(default_factory=list)
    #: 3. A further step that builds on the replayed records.
    then: Callable[[], Outcome] | None = None
    #: Instead of 1 and 3, when the append fails with this code. Without it the replies fail with the code.
    otherwise: Callable[[ErrorCode], Outcome] | None = None
    #: Id and epoch of the producer in whose transaction the records are appended.
    producer: tuple[int, int] | None = None

    def reply(self, waiting: Deferred[Any] | None, response: Any) -> None:
        """Send ``response`` to whoever waits, if anyone does."""
        if waiting is not None:
            self.replies.append((waiting, response))
