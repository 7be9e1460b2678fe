"""The quota on created and deleted partitions (KIP-599), as the controller applies it.

A request names who is charged; the answer says for how long that client is to be throttled. The use is counted where the
controller is, by the ``MutationQuotas`` that the room ``quotas`` gives it.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class ChargedClient(NamedTuple):
    """Whom a change is charged to. A strict quota refuses changes while the client's tokens are overdrawn, a permissive one
    makes them and throttles the client.
    """

    user: str
    client_id: str
    is_strict: bool


class Charged(NamedTuple, Generic[T]):
    """The result of a change that may be charged, and the milliseconds for which the client is to be throttled."""

    result: T
    throttle_time_ms: int = 0


class MutationQuota(Protocol):
    """The quota of one request's client."""

    def record(self, partitions: int, /) -> None:
        """Take tokens for partitions to be created or deleted. Raises KafkaError THROTTLING_QUOTA_EXCEEDED."""
        ...

    def throttle_ms(self) -> int:
        """Milliseconds for which the client is to be throttled from now on."""
        ...


class MutationQuotas(Protocol):
    """The quotas of all clients."""

    def of(self, client: ChargedClient, /) -> MutationQuota | None:
        """The quota of a client; None if it has none."""
        ...
