"""Housekeeping in a seed's own order: a cleaner that is slow for what comes in, and dies; a wall clock that is set.

Threads end when the seed says so, on virtual time. Retention has its turn however busy the cleaner is, doomed files go in
their time, and a compaction that failed is tried again. Any seed can be run alone: ``pytest -k 'test_housekeeping[42]'``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from pykbroker.process.cleaner import CleanerFailed, Order
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.compaction.cleaning import CleaningResult, clean
from pykbroker.storage.compaction.compaction import CompactionPlan
from pykbroker.storage.log import retention
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import append, batch

RETENTION_INTERVAL_MS = 2000
SLOWEST_THREAD_MS = 50
#: How far time goes between two turns.
PAUSES_MS = (40, 80, 160)
DAY_MS = 24 * 3600 * 1000


class Killed(BaseException):
    """The cleaner's process ends at this operation."""


class House:
    """One run; it is its own cleaner."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        world = MemoryCluster(
            seed=seed,
            log_retention_check_interval_ms=str(RETENTION_INTERVAL_MS),
            log_initial_task_delay_ms="0",
            log_cleaner_backoff_ms=self.random.choice(("0", "500")),
        )
        world.topic("t", 1)
        self.clock, self.disk, self.cluster = world.clock, world.disk, world.cluster
        self.log = world.partition("t").log
        self.bytes_per_second = self.random.choice((20_000, 40_000, 100_000))
        self.dies = self.random.choice((0.0, 0.3))
        self.log.update_config(
            LogConfig(
                segment_bytes=1000,
                index_interval_bytes=200,
                retention_bytes=self.random.choice((-1, 3000)),
                retention_ms=self.random.choice((-1, 1500)),
                delete=self.random.random() < 0.8,
                compact=True,
                min_cleanable_dirty_ratio=0.01,
                file_delete_delay_ms=1000,
            )
        )
        self.begun = 0
        self.ended = 0
        self.failed_at: float | None = None
        self.wall_set_at = -math.inf
        #: When a doomed file was first seen, in monotonic seconds.
        self.doomed: dict[object, float] = {}
        plan_compaction = self.cluster.logs.compactions.plan

        def plan(now_ms: int, due: Any) -> CompactionPlan | None:
            found = plan_compaction(now_ms, due)
            if found is not None:
                self.begun += 1
                self.check_retained(now_ms)
            return found

        self.cluster.logs.compactions.plan = plan  # type: ignore[method-assign]
        self.cluster.runtime.offload = self.cluster.runtime.offload_read = self.offload
        self.housekeeping = Housekeeping(self.cluster, durable=False, cleaner=self)

    # -- threads ------------------------------------------------------------------------------------------------------

    def offload(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()

        def end() -> None:
            try:
                done.complete(function(*args))
            except Exception as error:  # noqa: BLE001 - as a thread's
                done.fail(error)

        orders = [arg for arg in args if isinstance(arg, Order)]
        size = sum(2 * segment[1] for order in orders for segment in order.job.segments)
        took = 1000 * size / self.bytes_per_second + self.random.randrange(SLOWEST_THREAD_MS)
        self.cluster.runtime.timers.after(took, end)
        return done

    def run(self, order: Order) -> CleaningResult:
        """As CleanerProcess."""
        if self.random.random() < self.dies:
            last = self.disk.operations + self.random.randint(1, 20)
            self.disk.fail = lambda number, _: Killed() if number >= last else None
        try:
            result = clean(order.job, self.disk)
        except Killed:
            self.disk.fail = None
            self.failed_at = self.clock.monotonic()
            raise CleanerFailed("killed") from None
        finally:
            self.disk.fail = None
        self.ended += 1
        self.failed_at = None
        return result

    def stop(self) -> None:
        """Nothing runs between two turns."""

    # -- what must hold -----------------------------------------------------------------------------------------------

    def check_retained(self, now_ms: int) -> None:
        """A compaction begins with nothing that retention drops, but for what came in, or expired by a wall clock that was
        set, while a thread looked.
        """
        if not self.log.config.delete:
            return
        assert retention._over_size(self.log) <= 1
        looked_ms = 2 * (SLOWEST_THREAD_MS + max(PAUSES_MS))  # a thread looks twice, and is heard at the next pause
        if (self.clock.monotonic() - self.wall_set_at) * 1000 > looked_ms:
            assert retention._expired(self.log, now_ms - looked_ms) == 0

    def check_files(self) -> None:
        directory, now = self.log.path, self.clock.monotonic()
        names = [name for name in self.disk.list(directory) if name.endswith(".deleted")]
        files = [self.disk.inode(f"{directory}/{name}") for name in names]  # another one may get the same name
        self.doomed = {file: self.doomed.get(file, now) for file in files}
        limit_ms = self.log.config.file_delete_delay_ms + 2 * (1000 + SLOWEST_THREAD_MS)
        for name, file in zip(names, files, strict=True):
            assert (now - self.doomed[file]) * 1000 <= limit_ms, name

    def work(self, ms: int) -> None:
        self.housekeeping.start()
        pause = self.random.choice(PAUSES_MS)
        for number in range(ms // pause):
            self.clock.advance(pause)
            if self.random.random() < 0.002:
                self.wall_set_at = self.clock.monotonic()
                self.clock.set_wall(self.clock.now_ms() + self.random.choice((-DAY_MS, DAY_MS)))
            now_ms = self.clock.now_ms()
            append(self.log, batch([bytes(150)], keys=[b"%d" % number], timestamp=now_ms), now_ms=now_ms)
            self.cluster.runtime.timers.run_due()
            self.check_files()


@pytest.mark.parametrize("seed", seeds())
def test_housekeeping(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    house = House(seed)
    house.work(6_000)
    assert "ousekeeping round" not in caplog.text, "where what must hold is found not to"
    assert not house.cluster.logs.metadata_directory.offline
    assert house.begun > 0
    if house.failed_at is None:
        assert house.ended > 0
