"""The state of a coordinator in one partition of its topic, as the runtime sees it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Protocol

from pykbroker.coordination.outcome import CoordinatorRecord, Outcome


class RecordCodec(Protocol):
    """Encodes and decodes a coordinator's records; a module of the coordinator implements it."""

    def encode(self, record: CoordinatorRecord, /) -> tuple[bytes, bytes | None]:
        """Key and value in bytes."""
        ...

    def decode(self, key: bytes, value: bytes | None, /) -> CoordinatorRecord | None:
        """Decode a record; None for an unknown type. Raises WireError."""
        ...

    def owner_of(self, record: CoordinatorRecord, /) -> str:
        """The group or transactional id of a record."""
        ...


class Shard:
    """Base class. A key is a group or a transactional id; only ``replay`` and ``end_transaction`` change persisted state."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record of the log to the state."""
        raise NotImplementedError

    def end_transaction(self, producer_id: int, *, commit: bool) -> set[str]:
        """A transaction marker is in the partition: apply or drop the records of the transaction; returns the keys concerned."""
        return set()

    def keys(self) -> Iterable[str]:
        """All keys of the shard."""
        raise NotImplementedError

    def loaded(self) -> Iterator[str]:
        """The keys for which ``begin`` must be called once the log is replayed."""
        return iter(())

    def begin(self, key: str) -> Outcome:
        """The outcome for a key that was loaded; the key may be gone."""
        return Outcome()

    def wake_at(self, key: str) -> float:
        """When something becomes due (in seconds, on the monotonic clock); infinity for never."""
        return math.inf

    def tick(self, key: str) -> Outcome:
        """Do what is due."""
        return Outcome()

    def unload(self, key: str) -> Outcome:
        """The shard is unloaded: the replies for the requests that wait for a key."""
        return Outcome()
