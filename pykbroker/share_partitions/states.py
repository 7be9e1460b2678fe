"""The states of a record in a share partition, and what acknowledgements make of it (KIP-932, KIP-1191, KIP-1222)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple


class RecordState(IntEnum):
    """Values are those of the records of ``__share_group_state``."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    #: Given up; its copy for the dead-letter topic is not written yet.
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        """Whether the start offset may pass the record."""
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class Acknowledge(IntEnum):
    """What a client says of a record that it has acquired."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


#: What each becomes; RENEW changes no state, and a rejected record may wait for its dead letter first.
BECOMES: Final = {
    Acknowledge.GAP: RecordState.ARCHIVED,
    Acknowledge.ACCEPT: RecordState.ACKNOWLEDGED,
    Acknowledge.RELEASE: RecordState.AVAILABLE,
    Acknowledge.REJECT: RecordState.ARCHIVED,
}


class Acquired(NamedTuple):
    """Offsets ``first`` to ``last`` (inclusive), delivered for the ``deliveries``-th time."""

    first: int
    last: int
    deliveries: int


class GivenUp(NamedTuple):
    """Offsets ``first`` to ``last`` (inclusive) that wait for their dead letters after ``deliveries`` deliveries: they were
    ``rejected``, or else delivered as often as the group allows.
    """

    first: int
    last: int
    deliveries: int
    rejected: bool


class Acknowledged(NamedTuple):
    """One batch of acknowledgements: ``types`` has one for all offsets, or one for each."""

    first: int
    last: int
    types: list[int]


@dataclass(slots=True)
class Limits:
    """The settings of a group; they may change at any time."""

    lock_duration_ms: int = 30_000
    max_deliveries: int = 5
    max_in_flight: int = 2000
    #: Whether records that are given up are copied to a dead-letter topic first.
    dead_letters: bool = False
