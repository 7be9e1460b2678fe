"""One request's changes to the metadata, and whether they may be made (KIP-599)."""

from __future__ import annotations

from typing import Final

from pykbroker.quotas.rates import TokenBucket
from pykbroker.runtime.clock import Clock
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError

#: The APIs that change partitions, with the version from which on their clients know that they may be refused.
STRICT_SINCE: Final[dict[int, int]] = {
    int(ApiKey.CREATE_TOPICS): 6,
    int(ApiKey.DELETE_TOPICS): 5,
    int(ApiKey.CREATE_PARTITIONS): 3,
}


class Mutations:
    """What a request takes of its client's tokens. ``strict``: nothing is done while tokens are owed; else it is done, and the
    client waits.
    """

    def __init__(self, bucket: TokenBucket, bound: float, clock: Clock, *, strict: bool) -> None:
        self._bucket = bucket
        self._bound = bound
        self._clock = clock
        self._strict = strict
        self._throttle_ms = 0
        self._told_at = 0

    def __call__(self, partitions: int) -> None:
        """So many partitions are about to be created or deleted. Raises KafkaError THROTTLING_QUOTA_EXCEEDED."""
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
        """How long the client has to wait, from now on."""
        return max(0, self._throttle_ms - (milliseconds(self._clock) - self._told_at))

    def _owed(self, now: int) -> None:
        self._throttle_ms = self._bucket.throttle_ms(self._bound, now)
        self._told_at = now


def milliseconds(clock: Clock) -> int:
    """The time that quotas count in."""
    return int(clock.monotonic() * 1000)
