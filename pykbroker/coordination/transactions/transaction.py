"""One transactional id: its producer and its transaction.

States and transitions are those of Kafka's TransactionState. A ``Transaction`` is a value; a step is a new value, which takes
effect once it is in ``__transaction_state``.

    EMPTY -> ONGOING -> PREPARE_COMMIT -> COMPLETE_COMMIT
                     -> PREPARE_ABORT  -> COMPLETE_ABORT

From a completed state a new transaction begins (ONGOING), or a new producer takes over (EMPTY). With transaction version 2 a
transaction without partitions can be aborted, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

TopicPartition = tuple[str, int]

NO_PRODUCER_ID = -1
NO_EPOCH = -1
MAX_EPOCH = 2**15 - 1
#: From this transaction version the epoch rises with every transaction (KIP-890).
EPOCH_BUMP_SINCE = 2


class TransactionState(IntEnum):
    """States as in the log; ``title`` is the name that clients see."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """``PrepareCommit`` for PREPARE_COMMIT."""
        return "".join(word.capitalize() for word in self.name.split("_"))


#: States without an open transaction.
AT_REST = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
#: States in which markers are to be written.
PREPARED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

_PREVIOUS: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: AT_REST,
    TransactionState.ONGOING: AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: AT_REST | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}


class IllegalTransition(RuntimeError):
    """A step that no rule allows: a bug of the broker, not an error of a client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """See the module. Times in milliseconds, -1 for none."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    #: The producer id before the last step; it differs from ``producer_id`` after its epochs were exhausted.
    previous_producer_id: int = NO_PRODUCER_ID
    #: The producer id that takes over when this transaction is complete, if the epochs are exhausted.
    next_producer_id: int = NO_PRODUCER_ID
    #: The epoch before the last bump, which identifies a repeated request. Kafka's record has no field for it, so after
    #: a restart it is NO_EPOCH.
    last_producer_epoch: int = NO_EPOCH
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = -1
    updated_ms: int = -1
    #: The transaction version the client spoke at the last step.
    client_version: int = 0

    @property
    def epoch_exhausted(self) -> bool:
        """Whether the producer has used its last epoch; the highest one is reserved for fencing."""
        return is_exhausted(self.producer_epoch)

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self.state is TransactionState.ONGOING

    def is_late(self, now_ms: int) -> bool:
        """Whether it is open and has timed out."""
        return self.state is TransactionState.ONGOING and self.start_ms + self.timeout_ms < now_ms

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        """Whether it is at rest, and the transactional id has expired."""
        return self.state in AT_REST and self.updated_ms <= now_ms - expiration_ms

    def step(self, state: TransactionState, now_ms: int, **changes: Any) -> Transaction:
        """The next value, in ``state``. Raises IllegalTransition."""
        if self.state not in _PREVIOUS.get(state, ()):
            raise IllegalTransition(f"{self.transactional_id}: {self.state.name} cannot become {state.name}")
        return replace(self, state=state, previous_producer_id=self.producer_id, updated_ms=now_ms, **changes)

    def completed(self, now_ms: int) -> Transaction:
        """The value once all markers are written."""
        state = (
            TransactionState.COMPLETE_COMMIT
            if self.state is TransactionState.PREPARE_COMMIT
            else TransactionState.COMPLETE_ABORT
        )
        rotates = self.client_version >= EPOCH_BUMP_SINCE and self.next_producer_id != NO_PRODUCER_ID
        return self.step(
            state,
            now_ms,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
        )


def is_exhausted(epoch: int) -> bool:
    """Whether no epoch may follow this one."""
    return epoch >= MAX_EPOCH - 1
