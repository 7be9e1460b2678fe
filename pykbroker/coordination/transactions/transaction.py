"""One transactional id: what the coordinator knows of its producer and of the transaction it is in.

The states and the ways between them are those of Kafka's TransactionState; a ``Transaction`` is a value, and a step is a
new value, which counts once it stands in ``__transaction_state``.

    EMPTY -> ONGOING -> PREPARE_COMMIT -> COMPLETE_COMMIT
                     -> PREPARE_ABORT  -> COMPLETE_ABORT

From a completed state a new transaction begins (ONGOING), or a new producer takes over (EMPTY). With transaction version
2 an abort is also possible where nothing was added yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

TopicPartition = tuple[str, int]

NO_PRODUCER_ID = -1
NO_EPOCH = -1
MAX_EPOCH = 2**15 - 1
#: From this transaction version on the epoch rises with every transaction (KIP-890).
EPOCH_BUMP_SINCE = 2


class TransactionState(IntEnum):
    """States as they stand in the log; ``title`` is how clients see them."""

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


#: Nothing of a transaction is open in these.
AT_REST = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
#: The outcome is decided, and markers are still to be written.
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
    """A step that no rule allows was about to be taken: a defect here, not a client's mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """See the module. Times in milliseconds, -1 for none."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    #: The producer id before the last step; it differs from ``producer_id`` after the epochs of one were used up.
    previous_producer_id: int = NO_PRODUCER_ID
    #: The producer id that takes over when this transaction is complete, where the epochs are used up.
    next_producer_id: int = NO_PRODUCER_ID
    #: The epoch before the last bump, by which a repeated request is known. Kafka's record has no room for it, so after
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
        """Whether the producer has had its last epoch: the very last is kept for fencing."""
        return is_exhausted(self.producer_epoch)

    def is_late(self, now_ms: int) -> bool:
        """Whether it is open, and older than its producer allowed."""
        return self.state is TransactionState.ONGOING and self.start_ms + self.timeout_ms < now_ms

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        """Whether it is at rest, and nobody used the transactional id for so long."""
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
    """Whether no producer may be given an epoch after this one."""
    return epoch >= MAX_EPOCH - 1
