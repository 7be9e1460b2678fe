"""After a kill, only logs that were written to since the last clean shutdown are opened before anybody is served."""

from __future__ import annotations

import random
from pathlib import Path

from pykbroker.brokers.cluster import Cluster
from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.image import Endpoint
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.disk import RealDisk
from pykbroker.wire.records import Record, encode_batch

PARTITIONS = 5
SETTINGS = {"listeners": "PLAINTEXT://127.0.0.1:0", "num.partitions": str(PARTITIONS)}


def started(folder: Path) -> Cluster:
    cluster = Cluster.open(BrokerConfig(SETTINGS), folder, RealDisk(durable=False), SystemClock(), random.Random(1))
    cluster.start_brokers({1: [Endpoint("PLAINTEXT", "127.0.0.1", 1)]})
    cluster.auto_create("t")
    return cluster


def write(cluster: Cluster, *partitions: int) -> None:
    for index in partitions:
        partition = cluster.partition("t", index)
        assert partition is not None
        partition.append_produce(bytearray(encode_batch([Record(0, cluster.runtime.clock.now_ms(), b"k", b"v", [])])))


def test_the_others_stay_closed(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    write(cluster, *range(PARTITIONS))
    cluster.shutdown()
    for turn in range(3):  # none of these lives ends with a clean shutdown
        write(started(tmp_path), 2, 4)
        cluster = started(tmp_path)
        assert sorted(partition.index for partition in cluster.dormant.partitions) == [0, 1, 3]
        ends = [cluster.partition("t", index).log_end_offset for index in range(PARTITIONS)]
        assert ends == [1, 1, 2 + turn, 1, 2 + turn]
