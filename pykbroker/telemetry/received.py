"""The newest values of the metrics that clients have sent, by client instance; bounded in number, and forgotten some time after the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pykbroker.telemetry.otlp import Kind, Point

if TYPE_CHECKING:
    from pykbroker.runtime.timers import Timer, Timers

#: The most series of one client, and of all clients of a broker.
SERIES_OF_A_CLIENT: Final = 1000
_SERIES: Final = 20_000

#: Name and labels.
Series = tuple[str, tuple[tuple[str, str], ...]]


class ClientValues:
    """What one client instance has sent: the newest value of each series, and whether it only grows."""

    __slots__ = ("client_id", "instance_id", "series", "software", "timer")

    def __init__(self, instance_id: str, client_id: str, software: str) -> None:
        self.instance_id = instance_id
        self.client_id = client_id
        #: Name and version of its library.
        self.software = software
        self.series: dict[Series, tuple[float, bool]] = {}
        self.timer: Timer | None = None

    @property
    def last_push(self) -> int:
        """Grows from push to push of all clients, with whichever broker of the process."""
        return 0 if self.timer is None else self.timer.sequence


class ReceivedMetrics:
    """See the module. ``dropped`` counts the points for which there was no room. A client is known while it has a series, so there are as
    many clients at most.
    """

    def __init__(self, timers: Timers, most: int = _SERIES) -> None:
        self._timers = timers
        self._most = most
        self._clients: dict[str, ClientValues] = {}
        self.series = 0
        self.dropped = 0

    def clients(self) -> Iterator[ClientValues]:
        """All clients whose metrics are known, in the order of their first push."""
        yield from list(self._clients.values())

    def take(self, client: ClientValues, points: Sequence[Point], life_ms: float) -> None:
        """Take the points of a push. Sums since the last push are added up. The values are kept for ``life_ms`` milliseconds, unless
        the client pushes again; ``client`` says who it is, if it is new.
        """
        client = self._clients.get(client.instance_id, client)
        for point in points:
            key = (point.name, point.labels)
            before = client.series.get(key)
            if before is None:
                if len(client.series) >= SERIES_OF_A_CLIENT or self.series >= self._most:
                    self.dropped += 1
                    continue
                self.series += 1
            value = point.value
            if point.kind is Kind.DELTA and before is not None:
                value += before[0]
            client.series[key] = value, point.kind is not Kind.GAUGE
        if not client.series:
            return
        self._clients[client.instance_id] = client
        if client.timer is not None:
            client.timer.cancel()
        client.timer = self._timers.after(life_ms, lambda: self._forget(client))

    def close(self) -> None:
        """The broker has stopped."""
        for client in list(self._clients.values()):
            self._forget(client)

    def _forget(self, client: ClientValues) -> None:
        if self._clients.pop(client.instance_id, None) is not None:
            self.series -= len(client.series)
        if client.timer is not None:
            client.timer.cancel()
