"""Client instances: which clients ask for subscriptions and push metrics, and when they may (ClientMetricsInstance, Apache Kafka 4.4.0).

An instance is a client of one broker by the id that the broker gave it. It is forgotten with the connection that brought it, after
three push intervals without a request, or when too many others have asked since.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.timers import Timer, Timers
    from pykbroker.telemetry.subscriptions import Subscribed
    from pykbroker.wire.messages.push_telemetry import PushTelemetryRequest

#: The most instances of a broker, and the shortest time that one is known, as in Kafka.
_MOST: Final = 16_384
SHORTEST_LIFE_MS: Final = 60_000
#: Errors after which a client asks again at once.
_ASKS_AGAIN: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class ClientInstance:
    """One client, and what is asked of it. Times are monotonic, in seconds."""

    __slots__ = (
        "_last_get", "_last_push", "client", "id", "is_terminating", "last_error", "subscribed", "subscription_id", "timer", "version",
    )  # fmt: skip

    def __init__(
        self,
        instance_id: bytes,
        client: dict[str, str],
        subscribed: Subscribed,
        subscription_id: int,
        version: int,
    ) -> None:
        self.id = instance_id
        #: Its properties by the names that subscriptions match.
        self.client = client
        self.subscribed = subscribed
        self.subscription_id = subscription_id
        #: The version of the subscriptions that ``subscribed`` was computed from.
        self.version = version
        self.is_terminating = False
        self.last_error = ErrorCode.NONE
        self.timer: Timer | None = None
        self._last_get = -math.inf
        self._last_push = -math.inf

    def check_get(self, now: float) -> None:
        """Raises KafkaError THROTTLING_QUOTA_EXCEEDED before the next push is due, except after an error that asking again mends."""
        if now - max(self._last_get, self._last_push) >= self._interval_s:
            self._last_get = now
        elif self.last_error not in _ASKS_AGAIN:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    def check_push(self, request: PushTelemetryRequest, now: float, most_bytes: int) -> None:
        """Raises KafkaError INVALID_REQUEST, THROTTLING_QUOTA_EXCEEDED, UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE or
        TELEMETRY_TOO_LARGE. One push may follow what the client was told at once; the last one may come at any time.
        """
        if self.is_terminating:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if self._last_get > self._last_push or now - self._last_push >= self._interval_s:
            self._last_push = now
        elif not request.terminating:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        if request.subscription_id != self.subscription_id:
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if not 0 <= request.compression_type < len(Compression):
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if len(request.metrics) > most_bytes:
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE)

    @property
    def life_ms(self) -> int:
        """How long it is known without a request."""
        return max(SHORTEST_LIFE_MS, 3 * self.subscribed.interval_ms)

    @property
    def _interval_s(self) -> float:
        return self.subscribed.interval_ms / 1000


class ClientInstances:
    """The instances of one broker, those that asked last at the end."""

    def __init__(self, timers: Timers, most: int = _MOST) -> None:
        self._timers = timers
        self._most = most
        self._known: OrderedDict[bytes, ClientInstance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, instance_id: bytes) -> ClientInstance | None:
        """The instance with this id, which is the newest from now on."""
        found = self._known.get(instance_id)
        if found is not None:
            self._known.move_to_end(instance_id)
        return found

    def put(self, instance: ClientInstance) -> None:
        """Remember an instance, in place of one with the same id."""
        self.forget(instance.id)
        self._known[instance.id] = instance
        if len(self._known) > self._most:
            self.forget(next(iter(self._known)))

    def keep(self, instance: ClientInstance) -> None:
        """The instance has asked: it is known for some time from now on."""
        if instance.timer is not None:
            instance.timer.cancel()
        instance.timer = self._timers.after(instance.life_ms, self._forgets(instance))

    def forget(self, instance_id: bytes) -> None:
        """Forget an instance, if it is known."""
        found = self._known.pop(instance_id, None)
        if found is not None and found.timer is not None:
            found.timer.cancel()

    def close(self) -> None:
        """The broker has stopped."""
        for each in self._known.values():
            if each.timer is not None:
                each.timer.cancel()
        self._known.clear()

    def _forgets(self, instance: ClientInstance) -> Callable[[], None]:
        def forget() -> None:
            if self._known.get(instance.id) is instance:
                del self._known[instance.id]

        return forget
