"""Limits on the number and rate of connections (KIP-402, KIP-612): Kafka's ConnectionQuotas as a pure state machine.

A new connection counts at once in the rates of its listener and of the broker and may have to wait for them, then for room;
finally the limits of its address accept or refuse it. The inter-broker listener, if there are others, is subject to its own
limits only, not to the broker's, so that brokers reach each other however many clients are connected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pykbroker.quotas.limits import Limit, QuotaLimits
from pykbroker.quotas.usage import RateUsage
from pykbroker.runtime.rates import Rate, Windows

UNLIMITED: Final = 2**31 - 1


class ListenerLimits(NamedTuple):
    """The limits of one listener: open connections, and new ones per second."""

    connections: int = UNLIMITED
    rate: int = UNLIMITED


class ConnectionLimits(NamedTuple):
    """The limits of one broker. Addresses are in the form of the ``ipaddress`` module; None is the default for all others."""

    listeners: Mapping[str, ListenerLimits]
    inter_broker: str
    connections: int = UNLIMITED
    rate: int = UNLIMITED
    per_address: Mapping[str | None, int] = {}
    rate_per_address: Mapping[str | None, int] = {}


class TooManyConnections(Exception):
    """The connection's address already has the maximum number of connections."""

    def __init__(self, most: int) -> None:
        super().__init__(f"its address already has the maximum of {most} connections")


class ConnectionThrottled(Exception):
    """The connection's address connects too often. The connection is refused, and to be closed after ``ms`` milliseconds."""

    def __init__(self, ms: int) -> None:
        super().__init__(f"its address connects too often; it is throttled for {ms} ms")
        self.ms = ms


class ConnectionQuotas:
    """See the module. ``inside`` has the listener and address of each open connection. Times are milliseconds."""

    def __init__(self, limits: ConnectionLimits, windows: Windows, inside: Iterable[tuple[str, str]] = ()) -> None:
        self.limits = limits
        self._windows = windows
        #: By listener, the broker's under None. A rate begins with its first connection.
        self._rates: dict[str | None, Rate] = {}
        self._address_rates = RateUsage(QuotaLimits({}, ""), windows, most_ms=windows.size_ms)
        self._by_listener: Counter[str] = Counter()
        self._by_address: Counter[str] = Counter()
        for listener, address in inside:
            self._count(listener, address)

    def arrived(self, listener: str, now: int) -> int:
        """Count a new connection in the rates; returns the milliseconds that it has to wait for them."""
        wait_ms = self._wait_ms(listener, self.limits.listeners[listener].rate, now)
        if self.is_protected(listener):
            return wait_ms
        return max(wait_ms, self._wait_ms(None, self.limits.rate, now))

    def has_room(self, listener: str) -> bool:
        """Whether the listener may have one more connection."""
        if self._by_listener[listener] >= self.limits.listeners[listener].connections:
            return False
        return self.is_protected(listener) or self._by_listener.total() < self.limits.connections

    def take(self, listener: str, address: str, now: int) -> None:
        """Count a connection as open. Raises TooManyConnections or ConnectionThrottled for a limit of its address."""
        rate = _of(self.limits.rate_per_address, address)
        if rate != UNLIMITED:
            self._check_rate(listener, address, rate, now)
        most = _of(self.limits.per_address, address)
        if self._by_address[address] >= most:
            raise TooManyConnections(most)
        self._count(listener, address)

    def left(self, listener: str, address: str) -> None:
        """A connection that was let in has ended."""
        self._by_listener[listener] -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def excess(self) -> int:
        """The number of connections to close on listeners that are not protected."""
        others = sum(count for listener, count in self._by_listener.items() if not self.is_protected(listener))
        return min(others, max(0, self._by_listener.total() - self.limits.connections))

    def is_protected(self, listener: str) -> bool:
        """Whether it is the inter-broker listener, and clients have another."""
        return listener == self.limits.inter_broker and len(self.limits.listeners) > 1

    def rates(self, now: int) -> dict[str, float]:
        """New connections per second by listener, over the windows."""
        return {listener: rate.per_second(now) for listener, rate in self._rates.items() if listener is not None}

    def _wait_ms(self, whose: str | None, limit: int, now: int) -> int:
        rate = self._rates.get(whose)
        if rate is None:
            rate = self._rates[whose] = Rate(self._windows, now)
        rate.record(1, now)
        if limit == UNLIMITED:
            return 0
        return min(rate.throttle_ms(limit, now), self._windows.size_ms) if limit else self._windows.size_ms

    def _check_rate(self, listener: str, address: str, rate: int, now: int) -> None:
        """Check the rate of an address. A connection that it refuses is subtracted from the other rates."""
        limit = Limit((address, ""), rate)
        throttle_ms = self._address_rates.record(limit, 1, now)
        if throttle_ms:
            self._address_rates.take_back(limit, 1, now)
            for whose in (listener,) if self.is_protected(listener) else (listener, None):
                if (counted := self._rates.get(whose)) is not None:
                    counted.record(-1, now)
            raise ConnectionThrottled(throttle_ms)

    def _count(self, listener: str, address: str) -> None:
        self._by_listener[listener] += 1
        self._by_address[address] += 1


def _of(limits: Mapping[str | None, int], address: str) -> int:
    found = limits.get(address)
    return limits.get(None, UNLIMITED) if found is None else found
