"""The controller mutation quota for the changes of one request (KIP-599)."""

from __future__ import annotations

from typing import Final

from pykbroker.quotas.rates import TokenBucket
from pykbroker.runtime.clock import Clock
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError

#: The APIs that create or delete partitions, with the version from which they may answer THROTTLING_QUOTA_EXCEEDED.
STRICT_SINCE: Final[dict[int, int]] = {
    int(ApiKey.CREATE_TOPICS): 6,
    int(ApiKey.DELETE_TOPICS): 5,
    int(ApiKey.CREATE_PARTITIONS): 3,
}


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
        self._told_at = 0

    def __call__(self, partitions: int) -> None:
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
        return max(0, self._throttle_ms - (milliseconds(self._clock) - self._told_at))

    def _owed(self, now: int) -> None:
        self._throttle_ms = self._bucket.throttle_ms(self._bound, now)
        self._told_at = now


def milliseconds(clock: Clock) -> int:
    """The time of quotas: whole milliseconds of the monotonic clock."""
    return int(clock.monotonic() * 1000)
