"""What a test can do to its brokers: faults, stop and start, leaders, time, reset and snapshots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.steered.clock import duration
from pykbroker.steered.disk import DiskFaults
from pykbroker.testing.access import Access
from pykbroker.testing.brokers import TestBroker, move_coordinator, move_leader
from pykbroker.testing.faults import Faults

if TYPE_CHECKING:
    from pykbroker.runtime.waits import Deferred


class Actions(Access):
    """See the module."""

    _faults: Faults

    def __init__(self) -> None:
        super().__init__()
        self._brokers: dict[int, TestBroker] = {}
        self._on_reset: list[Callable[[], None]] = []

    # ---- data ----------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Return to the initial state: topics, groups, transactions, credentials, faults and dynamic settings are removed, the disk
        works, and connections are closed. The time does not depend on the amount of data. Raises RuntimeError for a broker
        with a ``data_dir``.
        """
        self._here.reset()

    def snapshot(self, name: str) -> None:
        """Save all data under ``name``, for ``restore``; replaces an earlier snapshot of that name."""
        self._here.snapshot(name)

    def restore(self, name: str) -> None:
        """Return to the data of a snapshot; connections are closed. Raises LookupError if there is none of that name, and
        RuntimeError for a broker with a ``data_dir``.
        """
        self._here.restore(name)

    def forget_snapshots(self) -> None:
        """Remove all snapshots."""
        self._here.forget_snapshots()

    @property
    def on_reset(self) -> list[Callable[[], None]]:
        """Called by ``reset`` and ``restore`` on the broker's thread, just before connections are closed."""
        _ = self._here
        return self._on_reset

    # ---- faults, brokers and time --------------------------------------------------------------------------------------

    @property
    def faults(self) -> Faults:
        """Fault injection: rules for requests."""
        _ = self._here
        return self._faults

    @property
    def disk(self) -> DiskFaults:
        """Fault injection: errors of the disk."""
        return self._here.disk

    def broker(self, node_id: int) -> TestBroker:
        """One broker, to stop, kill, pause or start. Raises ValueError for an unknown id."""
        known = list(self._here.node.addresses())
        if node_id not in known:
            raise ValueError(f"there is no broker {node_id}; these are: {', '.join(map(str, known))}")
        return self._brokers.setdefault(node_id, TestBroker(self._here, self._faults, node_id))

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Make another broker the leader of a partition, in a new leader epoch. Raises ValueError if it has no in-sync replica."""
        self._ask_later(move_leader, topic, partition, to)

    def move_coordinator(self, *, to: int, group: str | None = None, transactional_id: str | None = None) -> None:
        """Make another broker the coordinator of a group or a transactional id, and of all others in the same partition of the
        coordinator's topic. Raises ValueError.
        """
        self._ask_later(move_coordinator, to, group=group, transactional_id=transactional_id)

    def advance(self, /, text: str | float | None = None, **units: float) -> None:
        """Advance the clock: ``advance("45s")``, ``advance(seconds=45)``; returns when all that became due is done. Raises ValueError
        for an invalid duration, and RuntimeError without ``clock="manual"``.
        """
        time = self._here.time
        if time is None:
            raise RuntimeError('time passes by itself here; write Kafka(clock="manual") to move it')
        self._run(time.advance(duration(text, units)))

    def run_retention(self) -> None:
        """Run a round of retention now, which log.retention.check.interval.ms runs periodically."""
        self._run(self._round(self._here.node.housekeeping.run_retention))

    def run_compaction(self) -> None:
        """Compact now all logs that are due by their topics' settings."""
        self._run(self._round(self._here.node.housekeeping.run_compaction))

    async def _round(self, work: Callable[[], Deferred[None]]) -> None:
        await self._here.node.lifetimes.outcome(work())
