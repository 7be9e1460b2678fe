"""What a topic that is made again right after its deletion asks of the disk is waited for by a thread, not by the loop.

The disk is a real one, of which every sync in the loop's thread is noted.
"""

from __future__ import annotations

import threading
from pathlib import Path

from pykbroker.runtime.waits import Deferred
from pykbroker.storage.checkpoints import RECOVERY_POINTS, read_offsets
from pykbroker.storage.disk import File
from pykbroker.storage.real_disk import RealDisk, RealFile
from pykbroker.tests.kit.running import running_broker
from pykbroker.tests.network.test_connection import run
from pykbroker.tests.storage.rounds import checkpoint_round
from pykbroker.tests.storage.support import batch
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse


class WatchedFile(RealFile):
    """A file whose syncs are seen."""

    def sync(self) -> None:
        assert isinstance(self._disk, WatchedDisk)
        self._disk.synced(self.path)
        super().sync()


class WatchedDisk(RealDisk):
    """See the module."""

    def __init__(self) -> None:
        super().__init__(durable=False)
        self.by_the_loop: list[str] = []
        self.by_threads: list[str] = []

    def synced(self, path: str) -> None:
        on_the_loop = threading.current_thread() is threading.main_thread()
        (self.by_the_loop if on_the_loop else self.by_threads).append(path)

    def open(self, path: str) -> File:
        return WatchedFile(self, path)

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        if sync:
            self.synced(path)
        super().write(path, data, sync=sync)

    def sync_directory(self, path: str) -> None:
        self.synced(path)


CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])


def test_a_topic_that_is_made_again_at_once(tmp_path: Path) -> None:
    async def check() -> None:
        disk = WatchedDisk()
        async with running_broker(tmp_path, disk=disk) as broker:
            client = await broker.connect()
            await client.ask(CREATE, 5, CreateTopicsResponse)
            _append(broker.cluster, b"old")
            checkpoint_round(broker.cluster.logs)
            recovery_points = f"{broker.cluster.logs.metadata_directory.path}/{RECOVERY_POINTS}"
            assert ("t", 0) in read_offsets(disk, recovery_points)
            disk.by_the_loop.clear()
            await client.ask(DeleteTopicsRequest(topic_names=["t"]), 4, DeleteTopicsResponse)
            disk.by_threads.clear()
            await client.ask(CREATE, 5, CreateTopicsResponse)
            assert (
                disk.by_threads[0] == broker.cluster.logs.metadata_directory.path
            )  # before the topic is in the metadata
            assert ("t", 0) not in read_offsets(disk, recovery_points)
            _append(broker.cluster, b"new")
            assert disk.by_the_loop == []
            client.close()

    run(check())


def _append(cluster, value: bytes) -> None:
    appended = cluster.partition("t", 0).append_produce(batch([value]))
    assert appended.base_offset == 0
    assert not isinstance(appended.committed, Deferred)
