"""A disk that a compaction has filled when the broker dies: the next start has room before it opens anything.

Any seed can be run alone: ``pytest -k 'test_a_start_on_a_full_disk[42]'``.
"""

from __future__ import annotations

import contextlib
import random

import pytest

from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import append, batch
from pykbroker.wire.errors import KafkaError
from pykbroker.worlds.disk import ProcessDied

#: What a start may write for itself: a batch of the metadata log, and small files.
_START_BYTES = 4096
COMPACTED = LogConfig(segment_bytes=4000, compact=True, delete=False, min_cleanable_dirty_ratio=0.0)


def fill(world: MemoryCluster, rng: random.Random) -> int:
    """A compacted log of some segments, flushed; its end."""
    if "t" not in world.image.topics:
        world.topic("t", 1)
    partition = world.partition("t")
    partition.log.update_config(COMPACTED)
    for number in range(rng.randint(30, 60)):
        append(partition.log, batch([bytes(rng.randrange(400, 900))], keys=[b"%d" % rng.randrange(20 + number)]))
    partition.log.flush()
    return partition.log.log_end_offset


@pytest.mark.parametrize("seed", seeds())
def test_a_start_on_a_full_disk(seed: int) -> None:
    rng = random.Random(seed)
    world = MemoryCluster(seed=seed, log_cleanup_policy="compact")
    disk = world.disk
    end = fill(world, rng)
    if rng.random() < 0.5:
        world.restart()
        end = fill(world, rng)
    plan = world.cluster.logs.compactions.plan(world.clock.now_ms())
    assert plan is not None
    before = disk.used_bytes
    last = disk.operations + rng.randint(8, 60)
    disk.fail = lambda number, _: ProcessDied() if number >= last else None
    with contextlib.suppress(ProcessDied):
        clean(plan.job, disk)
    disk.fail = None
    written = disk.used_bytes - before
    unfinished = any(name.endswith(".cleaned") for name in disk.list(plan.job.directory))
    if not unfinished or written < _START_BYTES:
        return  # it leaves what recovery completes, or nearly nothing
    disk.capacity = disk.used_bytes
    world.restart(kill=True)
    partition = world.partition("t")
    assert partition.log.log_end_offset == end
    disk.capacity += 2000
    assert append(partition.log, batch([b"more"], keys=[b"k"])).base_offset == end


def test_a_disk_that_others_filled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No leftovers, no room: the start says so."""
    world = MemoryCluster(log_cleanup_policy="compact")
    fill(world, random.Random(1))
    world.disk.capacity = world.disk.used_bytes
    with pytest.raises(KafkaError, match="No space left"):
        world.restart(kill=True)
