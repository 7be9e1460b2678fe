from __future__ import annotations

import gc

import pytest

from pykbroker.seeding.dumping import TooMuch, dump_in_slices
from pykbroker.seeding.seed import SeedRecord
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.records import Record, encode_batch


def known() -> int:
    return sum(isinstance(each, SeedRecord) for each in gc.get_objects())


@pytest.mark.parametrize("most_bytes", [1 << 20, 200])
def test_what_was_dumped_or_was_too_much_is_gone_with_its_last_use(most_bytes: int) -> None:
    """Without the collector of cycles, which may have set it aside while it was in use."""
    world = MemoryCluster()
    world.topic("t")
    for _ in range(3):
        world.partition("t").append_at_once(
            memoryview(bytearray(encode_batch([Record(value=b"a"), Record(value=b"b")])))
        )
    world.settle()
    gc.collect()
    before = known()
    gc.disable()
    try:
        dumped = dump_in_slices(world.cluster, ["t"], most_bytes)
        while not dumped.done:
            world.cluster.runtime.wake_queue.run()
        if most_bytes > 200:
            assert len(dumped.value.records) == 6
            assert known() == before + 6
        else:
            assert isinstance(dumped.error, TooMuch)
        del dumped
        assert known() == before
    finally:
        gc.enable()
