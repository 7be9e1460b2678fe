"""Compaction from end to end: a compacted topic under a running broker, cleaned by the process apart."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from pykbroker.process.cleaner import CleanerFailed, CleanerProcess, CleanerStopped, Order
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.runtime.waits import as_wait
from pykbroker.storage.checkpoints import PARTITION_METADATA, encode_partition_metadata
from pykbroker.storage.compaction.cleaning import CleaningJob, CleaningResult
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.kit.running import ended, running_broker, until_in_thread
from pykbroker.wire.records import Record, decode_records, encode_batch

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
            await ended(cluster.auto_creation.create(["compacted"]))
            partition = cluster.partition("compacted", 0)
            now = cluster.runtime.clock.now_ms()
            for round_ in range(60):
                records = [
                    Record(offset=i, timestamp=now, key=b"key-%d" % i, value=b"%d:" % round_ + b"x" * 500, headers=[])
                    for i in range(50)
                ]
                await ended(as_wait(partition.append_produce(bytearray(encode_batch(records)))))
            partition.log.flush()  # only what is on the disk is compacted
            before = partition.log.size_bytes
            housekeeping = Housekeeping(cluster, durable=False)
            over = asyncio.get_running_loop().create_future()
            housekeeping.run_compaction().when_done(lambda done: over.set_result(done.value))
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


def test_a_compaction_that_is_stopped_is_no_failure(tmp_path: Path) -> None:
    cleaner = CleanerProcess()
    with ThreadPoolExecutor() as pool:
        run = pool.submit(cleaner.run, endless_order(tmp_path))
        until_in_thread(lambda: cleaner._child)
        cleaner.stop()
        with pytest.raises(CleanerStopped):
            run.result()


def test_what_the_cleaner_cannot_do_is_told() -> None:
    with pytest.raises(CleanerFailed, match="AttributeError"):
        CleanerProcess().run(Order(None, float("inf"), durable=False))


def test_modules_of_the_folder_where_the_broker_was_started_are_not_taken_for_others(tmp_path, monkeypatch) -> None:
    for name in ("pickle", "threading", "crc32c", "pykbroker"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not for you')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CleanerFailed, match="AttributeError"):
        CleanerProcess().run(Order(None, float("inf"), durable=False))


SEGMENTS = 60


def test_a_log_of_more_segments_than_files_may_be_open(tmp_path: Path) -> None:
    """The child inherits the limit."""
    sizes = []
    for number in range(SEGMENTS):
        data = encode_batch([Record(timestamp=0, key=b"%d" % number, value=bytes(1000))], base_offset=number)
        (tmp_path / f"{number:020}.log").write_bytes(data)
        sizes.append(len(data))
    (tmp_path / PARTITION_METADATA).write_bytes(encode_partition_metadata(bytes(16)))
    segments = [(number, size, False) for number, size in enumerate(sizes)]
    config = LogConfig(segment_bytes=sizes[0])
    job = CleaningJob(str(tmp_path), segments, 0, SEGMENTS, 0, [], {}, config, bytes(16), 1 << 20)
    with get_context("spawn").Pool(1) as process:  # this one may have more files open already
        result = process.apply(clean_with_few_files, (Order(job, float("inf"), durable=False),))
    assert len(result.groups) == SEGMENTS
    assert len(list(tmp_path.glob("*.log.swap"))) == SEGMENTS


def clean_with_few_files(order: Order) -> CleaningResult:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    return CleanerProcess().run(order)


def endless_order(directory: Path) -> Order:
    """A compaction that reads a batch and may go on in a few weeks."""
    (directory / f"{0:020}.log").write_bytes(
        encode_batch([Record(offset=0, timestamp=0, key=b"key", value=bytes(2 << 20), headers=[])])
    )
    size = (directory / f"{0:020}.log").stat().st_size
    job = CleaningJob(str(directory), [(0, size, False)], 0, 1, 0, [], {}, LogConfig(), bytes(16), 1 << 20)
    return Order(job, 0.001, durable=False)


def test_the_cleaner_dies_with_its_broker(tmp_path: Path) -> None:
    """Else what it writes would meet what the next broker's cleaner writes."""
    command = [sys.executable, "-m", "pykbroker.tests.process.test_cleaner", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline() == b"the cleaner runs\n"
        broker.kill()
        _, errors = broker.communicate(timeout=60)  # which ends when the cleaner, too, has let go of the pipe
    assert errors == b""


if __name__ == "__main__":
    process = CleanerProcess()
    threading.Thread(target=process.run, args=(endless_order(Path(sys.argv[1])),)).start()
    until_in_thread(lambda: process._child)
    os.write(1, b"the cleaner runs\n")
