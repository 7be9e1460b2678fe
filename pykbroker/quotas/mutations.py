"""The controller mutation quota for the changes of one request (KIP-599)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.controller.mutation_quotas import ChargedClient
from pykbroker.quotas.usage import TokenUsage
from pykbroker.runtime.rates import TokenBucket
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

#: The APIs that create or delete partitions.
CHARGED_APIS: Final = frozenset(map(int, (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS)))


class ClientMutations:
    """The quotas of all clients, a ``MutationQuotas`` for the controller; each ``Mutations`` is for one request."""

    def __init__(self, usage: TokenUsage, clock: Clock) -> None:
        self._usage = usage
        self._clock = clock

    def of(self, client: ChargedClient, /) -> Mutations | None:
        limit = self._usage.limits.of(client.user, client.client_id)
        if limit is None:
            return None
        bucket = self._usage.bucket(limit, milliseconds(self._clock))
        return Mutations(bucket, limit.bound, self._clock, strict=client.is_strict)


class Mutations:
    """Takes tokens for a request's changes. With ``strict`` a change is refused while the bucket is overdrawn; otherwise it is
    made and the client is throttled.
    """

    def __init__(self, bucket: TokenBucket, bound: float, clock: Clock, *, strict: bool) -> None:
        self._bucket = bucket
        self._bound = bound
        self._clock = clock
        self._strict = strict
        self._throttle_ms = 0
        self._throttled_at = 0

    def record(self, partitions: int, /) -> None:
        """Take tokens for ``partitions`` to be created or deleted. Raises KafkaError THROTTLING_QUOTA_EXCEEDED."""
        now = milliseconds(self._clock)
        if self._strict:
            self._owed(now)
            if self._bucket.tokens(self._bound, now) < 0:
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
            self._bucket.take(partitions, self._bound, now)
        else:
            self._bucket.take(partitions, self._bound, now)
            self._owed(now)

    def throttle_ms(self) -> int:
        """Milliseconds for which the client is to be throttled from now on."""
        return max(0, self._throttle_ms - (milliseconds(self._clock) - self._throttled_at))

    def _owed(self, now: int) -> None:
        self._throttle_ms = self._bucket.throttle_ms(self._bound, now)
        self._throttled_at = now


def milliseconds(clock: Clock) -> int:
    """The time of quotas: whole milliseconds of the monotonic clock."""
    return int(clock.monotonic() * 1000)
