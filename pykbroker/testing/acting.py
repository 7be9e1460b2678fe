"""What a test does to its brokers: faults, brokers that go and come, leaders that move, time, and data that is kept or forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.testing.access import Access
from pykbroker.testing.brokers import TestBroker, move_coordinator, move_leader
from pykbroker.testing.clock import duration
from pykbroker.testing.disk import DiskFaults
from pykbroker.testing.faults import Faults

if TYPE_CHECKING:
    from pykbroker.runtime.waits import Deferred


class Acting(Access):
    """See the module."""

    _faults: Faults

    def __init__(self) -> None:
        super().__init__()
        self._brokers: dict[int, TestBroker] = {}
        self._on_reset: list[Callable[[], None]] = []

    # ---- data ----------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """As at the start: topics, groups, transactions, credentials, faults and settings altered at run time are gone, the disk is
        whole, and connections of clients are cut. It takes as long however much there was. Raises RuntimeError for a broker with a ``data_dir``.
        """
        self._here.reset()

    def snapshot(self, name: str) -> None:
        """Keep all data as it is now under ``name``, for ``restore``; what was kept under it before is replaced."""
        self._here.snapshot(name)

    def restore(self, name: str) -> None:
        """Go on with the data of a snapshot; connections of clients are cut. Raises LookupError where there is none of
        that name, and RuntimeError for a broker with a ``data_dir``.
        """
        self._here.restore(name)

    def forget_snapshots(self) -> None:
        """What ``snapshot`` kept goes."""
        self._here.forget_snapshots()

    @property
    def on_reset(self) -> list[Callable[[], None]]:
        """Called by ``reset`` and ``restore`` on the broker's thread, just before the clients are cut off."""
        _ = self._here
        return self._on_reset

    # ---- what goes wrong, and when -------------------------------------------------------------------------------------

    @property
    def faults(self) -> Faults:
        """Rules by which requests go wrong."""
        _ = self._here
        return self._faults

    @property
    def disk(self) -> DiskFaults:
        """How the disk fails."""
        return self._here.disk

    def broker(self, node_id: int) -> TestBroker:
        """One broker: to be stopped, killed, paused, started again. Raises ValueError where there is none of that id."""
        known = list(self._here.node.addresses())
        if node_id not in known:
            raise ValueError(f"there is no broker {node_id}; these are: {', '.join(map(str, known))}")
        return self._brokers.setdefault(node_id, TestBroker(self._here, self._faults, node_id))

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Let another broker lead a partition, in a new leader epoch. Raises ValueError where it has no replica in sync."""
        self._ask_later(move_leader, topic, partition, to)

    def move_coordinator(self, *, to: int, group: str | None = None, transactional_id: str | None = None) -> None:
        """Let another broker coordinate a group or a transactional id, and all others of its shard. Raises ValueError."""
        self._ask_later(move_coordinator, to, group=group, transactional_id=transactional_id)

    def advance(self, /, text: str | float | None = None, **units: float) -> None:
        """Let time pass: ``advance("45s")``, ``advance(seconds=45)``; come back when all that became due has been done.
        Raises ValueError for a text that is no duration, and RuntimeError without ``clock="manual"``.
        """
        time = self._here.time
        if time is None:
            raise RuntimeError('time passes by itself here; write Kafka(clock="manual") to move it')
        self._run(time.advance(duration(text, units)))

    def run_retention(self) -> None:
        """Do now what log.retention.check.interval.ms would do later."""
        self._run(self._round(self._here.node.housekeeping.run_retention))

    def run_compaction(self) -> None:
        """Compact now what is due by its topic's settings."""
        self._run(self._round(self._here.node.housekeeping.run_compaction))

    @staticmethod
    async def _round(work: Callable[[], Deferred[None]]) -> None:
        over = asyncio.Event()
        running = work()
        running.settled().map(lambda _: over.set()).or_log("a round of housekeeping")
        await over.wait()
        _ = running.value
