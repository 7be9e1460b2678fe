"""Records are decoded some at a time, however small the batches are that they lie in."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from pykbroker.http.console.reading import records_of
from pykbroker.http.turn import TURN_S, Turn
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages.fetch import PartitionData
from pykbroker.wire.records import Record, encode_batch


def test_others_have_their_turn_between_batches_of_one_record() -> None:
    batches = 50
    data = PartitionData(
        records=b"".join(encode_batch([Record(timestamp=0, value=b"v")], base_offset=at) for at in range(batches))
    )
    looks = 0

    def now() -> float:
        nonlocal looks
        looks += 1
        return looks * TURN_S / 4

    cluster = MemoryCluster().cluster
    brokers = SimpleNamespace(cluster=lambda: cluster)
    console: Any = SimpleNamespace(turn=lambda: Turn(now, cluster), brokers=brokers)
    had = 0

    async def read() -> list[int]:
        async def others() -> None:
            nonlocal had
            while True:
                had += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        found = [each.record.offset async for some in records_of(console, data) for each in some]
        beside.cancel()
        return found

    assert asyncio.run(read()) == list(range(batches))
    assert had >= batches // 5
