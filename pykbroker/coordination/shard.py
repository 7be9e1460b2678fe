"""What a coordinator keeps in one partition of its topic, as the runtime sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from pykbroker.coordination.outcome import CoordinatorRecord, Outcome


class RecordCodec(Protocol):
    """Records to bytes and back: a module of the coordinator's."""

    def encode(self, record: CoordinatorRecord, /) -> tuple[bytes, bytes | None]:
        """Key and value as they stand in the log."""
        ...

    def decode(self, key: bytes, value: bytes | None, /) -> CoordinatorRecord | None:
        """A record out of the log, None for a type that is not known. Raises WireError."""
        ...

    def owner_of(self, record: CoordinatorRecord, /) -> str:
        """The group, or the transactional id, that a record belongs to."""
        ...


class Shard:
    """To be subclassed. A key is a group or a transactional id; ``replay`` is the only place where persisted state changes."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Take a record that is in the log into the state."""
        raise NotImplementedError

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a producer's transaction is in the partition: what was written in it counts, or goes."""

    def loaded(self) -> Iterator[str]:
        """The keys for which something is to be done once the log is replayed (``begin``)."""
        return iter(())

    def begin(self, key: str) -> Outcome:
        """What is to be done for a key that was just loaded; it need not be there any more."""
        return Outcome()

    def wake_at(self, key: str) -> float:
        """When something becomes due (in seconds, on the monotonic clock); infinity for never."""
        return math.inf

    def tick(self, key: str) -> Outcome:
        """Do what has become due."""
        return Outcome()

    def unload(self) -> Outcome:
        """The shard moves away: the replies for whoever waits in it."""
        return Outcome()
