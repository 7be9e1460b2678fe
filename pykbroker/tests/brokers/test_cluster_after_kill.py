"""After a kill, only logs that were written to since the last clean shutdown are opened before anybody is served."""

from __future__ import annotations

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.records import Record, encode_batch

PARTITIONS = 5


def write(world: MemoryCluster, *partitions: int) -> None:
    for index in partitions:
        batch = encode_batch([Record(0, world.clock.now_ms(), b"k", b"v", [])])
        world.partition("t", index).append_produce(bytearray(batch))


def test_the_others_stay_closed() -> None:
    world = MemoryCluster()
    world.topic("t", PARTITIONS)
    write(world, *range(PARTITIONS))
    world.cluster.shutdown()
    for turn in range(3):  # none of these lives ends with a clean shutdown
        world.restart(kill=True)
        write(world, 2, 4)
        world.restart(kill=True)
        assert sorted(partition.index for partition in world.cluster.store.dormant.partitions) == [0, 1, 3]
        ends = [world.partition("t", index).log_end_offset for index in range(PARTITIONS)]
        assert ends == [1, 1, 2 + turn, 1, 2 + turn]
