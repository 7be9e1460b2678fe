"""Compaction from end to end: a compacted topic under a running broker, cleaned by the process apart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.cleaner import CleanerFailed, CleanerProcess, Order
from pykbroker.housekeeping import Housekeeping
from pykbroker.tests.running import running_broker
from wire.records import Record, decode_records, encode_batch

SETTINGS = {
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.bytes": str(1024 * 1024),
    "log.cleanup.policy": "compact",
    "num.partitions": "1",
}


def test_a_compacted_topic_keeps_the_newest_of_every_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, SETTINGS) as broker:
            cluster = broker.cluster
            assert cluster.auto_create("compacted")
            partition = cluster.partition("compacted", 0)
            now = cluster.clock.now_ms()
            for round_ in range(60):
                records = [
                    Record(offset=i, timestamp=now, key=b"key-%d" % i, value=b"%d:" % round_ + b"x" * 500, headers=[])
                    for i in range(50)
                ]
                partition.append_produce(bytearray(encode_batch(records)))
            partition.log.flush()  # only what is on the disk is compacted
            before = partition.log.size_bytes
            housekeeping = Housekeeping(cluster, durable=False)
            over = asyncio.get_running_loop().create_future()
            housekeeping._compactions().then(lambda done: over.set_result(done.value))
            await over
            assert partition.log.size_bytes < before // 2
            seen = {}
            for _, data in partition.log.batches(partition.log.log_start_offset):
                for record in decode_records(data):
                    seen[record.key] = record.value.split(b":")[0]
            assert seen == {b"key-%d" % i: b"59" for i in range(50)}
            assert partition.log_end_offset == 60 * 50

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_a_stopped_cleaner_does_no_more() -> None:
    cleaner = CleanerProcess()
    cleaner.stop()
    with pytest.raises(CleanerFailed, match="stopping"):
        cleaner.run(Order(None, 0.0, durable=False))


def test_what_the_cleaner_cannot_do_is_told() -> None:
    with pytest.raises(CleanerFailed, match="AttributeError"):
        CleanerProcess().run(Order(None, float("inf"), durable=False))
