"""How many connections a broker takes, and how fast (KIP-402, KIP-612): Kafka's ConnectionQuotas as a pure state machine.

A connection that arrives is counted at once in the rates of its listener and of the broker, and may have to wait for them; then it
waits until there is room for it; then the limits of its address decide whether it is taken. The inter-broker listener, where there
are others, knows no limit of the broker, only its own: brokers are to find each other however many clients there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pykbroker.quotas.limits import Limit, Limits
from pykbroker.quotas.rates import Rate, Windows
from pykbroker.quotas.usage import RateUsage

UNLIMITED: Final = 2**31 - 1


class ListenerLimits(NamedTuple):
    """Of one listener: connections that are open, and new ones a second."""

    connections: int = UNLIMITED
    rate: int = UNLIMITED


class ConnectionLimits(NamedTuple):
    """Of one broker. Addresses are written as the ``ipaddress`` module writes them; None is the default of all others."""

    listeners: Mapping[str, ListenerLimits]
    inter_broker: str
    connections: int = UNLIMITED
    rate: int = UNLIMITED
    per_address: Mapping[str | None, int] = {}
    rate_per_address: Mapping[str | None, int] = {}


class TooManyConnections(Exception):
    """Its address has as many connections as it may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"its address has already the maximum of {most} connections")


class ConnectionThrottled(Exception):
    """Its address connects too often. The connection is not taken, and closed after so many milliseconds."""

    def __init__(self, ms: int) -> None:
        super().__init__(f"its address connects too often, for another {ms} ms")
        self.ms = ms


class ConnectionQuotas:
    """See the module. ``inside`` are the listener and the address of each connection that is open already."""

    def __init__(self, limits: ConnectionLimits, windows: Windows, inside: Iterable[tuple[str, str]] = ()) -> None:
        self.limits = limits
        self._windows = windows
        #: By listener; of the broker under None. A rate begins with the first that is counted.
        self._rates: dict[str | None, Rate] = {}
        self._address_rates = RateUsage(Limits({}, ""), windows, most_ms=windows.size_ms)
        self._by_listener: Counter[str] = Counter()
        self._by_address: Counter[str] = Counter()
        for listener, address in inside:
            self._count(listener, address)

    def arrived(self, listener: str, now: int) -> int:
        """A connection has arrived. Returns how many milliseconds it has to wait, whatever room there is."""
        wait_ms = self._wait_ms(listener, self.limits.listeners[listener].rate, now)
        if self.is_protected(listener):
            return wait_ms
        return max(wait_ms, self._wait_ms(None, self.limits.rate, now))

    def has_room(self, listener: str) -> bool:
        """For one connection more."""
        if self._by_listener[listener] >= self.limits.listeners[listener].connections:
            return False
        return self.is_protected(listener) or self._by_listener.total() < self.limits.connections

    def take(self, listener: str, address: str, now: int) -> None:
        """Let a connection in. Raises TooManyConnections or ConnectionThrottled where its address may not have it."""
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
        """How many connections of listeners that are not protected are to be closed."""
        others = sum(count for listener, count in self._by_listener.items() if not self.is_protected(listener))
        return min(others, max(0, self._by_listener.total() - self.limits.connections))

    def is_protected(self, listener: str) -> bool:
        """Whether a listener comes before others: it is that of brokers, and clients have another."""
        return listener == self.limits.inter_broker and len(self.limits.listeners) > 1

    def rates(self, now: int) -> dict[str, float]:
        """Connections a second by listener, over the windows."""
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
        """A connection that is not taken counts in no rate."""
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
