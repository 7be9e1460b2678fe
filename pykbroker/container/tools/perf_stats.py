"""Statistics of the perf-test commands, in the format of Kafka's."""

from __future__ import annotations

from dataclasses import dataclass, field

_MB = 1024 * 1024
_PERCENTILES = (0.5, 0.95, 0.99, 0.999)


@dataclass
class _StatsWindow:
    """Statistics since ``begin``."""

    begin: float
    records: int = 0
    size: int = 0
    latency: float = 0.0
    longest: float = 0.0

    def add(self, records: int, size: int, latency: float) -> None:
        self.records += records
        self.size += size
        self.latency += latency * records
        self.longest = max(self.longest, latency)

    def mean_ms(self) -> float:
        return 1000 * self.latency / self.records if self.records else 0.0


@dataclass
class SendStats:
    """Statistics of sent records; times are in seconds, and a record's latency is that of its batch."""

    begin: float
    interval: float
    _all: _StatsWindow = field(init=False)
    _window: _StatsWindow = field(init=False)
    _latencies: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._all, self._window = _StatsWindow(self.begin), _StatsWindow(self.begin)

    @property
    def records(self) -> int:
        return self._all.records

    def add(self, records: int, size: int, latency: float) -> None:
        """Add an acknowledged batch."""
        for window in (self._all, self._window):
            window.add(records, size, latency)
        self._latencies.append((latency, records))

    def due(self, now: float) -> str | None:
        """Return the line of a completed interval and start the next; None before its end."""
        window, passed = self._window, now - self._window.begin
        if passed < self.interval:
            return None
        self._window = _StatsWindow(now)
        return (
            f"{window.records} records sent, {window.records / passed:.1f} records/sec ({window.size / passed / _MB:.2f} MB/sec), "
            f"{window.mean_ms():.1f} ms avg latency, {1000 * window.longest:.1f} ms max latency."
        )

    def total(self, now: float) -> str:
        """Return the line of the whole run."""
        passed = max(now - self.begin, 0.001)
        shown = ", ".join(f"{int(1000 * self._percentile(part))} ms {100 * part:g}th" for part in _PERCENTILES)
        return (
            f"{self.records} records sent, {self.records / passed:f} records/sec ({self._all.size / passed / _MB:.2f} MB/sec), "
            f"{self._all.mean_ms():.2f} ms avg latency, {1000 * self._all.longest:.2f} ms max latency, {shown}."
        )

    def _percentile(self, part: float) -> float:
        """Return a percentile of the latency."""
        wanted, seen = int(part * self.records), 0
        for latency, records in sorted(self._latencies):
            seen += records
            if seen > wanted:
                return latency
        return self._all.longest


@dataclass
class ReadStats:
    """Statistics of read records; times are in seconds."""

    records: int = 0
    size: int = 0
    joining: float = 0.0

    def add(self, records: int, size: int) -> None:
        self.records += records
        self.size += size

    def rates(self, before: ReadStats, seconds: float) -> str:
        """Return what was read since ``before`` with its rates, in total and without the time of joining."""
        records, size = self.records - before.records, (self.size - before.size) / _MB
        joining_ms = round(1000 * (self.joining - before.joining))
        fetching_ms = max(round(1000 * seconds) - joining_ms, 0)
        fetched = (
            f"{1000 * size / fetching_ms:.4f}, {1000 * records / fetching_ms:.4f}" if fetching_ms else "0.0000, 0.0000"
        )
        passed = max(seconds, 0.001)
        return (
            f"{self.size / _MB:.4f}, {size / passed:.4f}, {self.records}, {records / passed:.4f}, {joining_ms}, {fetching_ms}, "
            f"{fetched}"
        )
