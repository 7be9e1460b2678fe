"""A metadata log in memory, and a controller on it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from pykbroker.controller.controller import Controller
from pykbroker.controller.registrations import BrokerRegistration
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import Endpoint, MetadataImage
from pykbroker.metadata.local_log import LocalLog
from pykbroker.metadata.quorum import Quorum
from pykbroker.metadata.replay import replay
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime

SETTINGS: dict[str, Any] = {
    "num.partitions": 2,
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.num.partitions": 50,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.segment.bytes": 104857600,
    "auto.create.topics.enable": True,
    "delete.topic.enable": True,
    "metadata.log.max.record.bytes.between.snapshots": 1024**2,
    "max.request.partition.size.limit": 2000,
}

LOG_DIR = bytes(range(16))


class MemoryLog:
    """Keeps records in a list; fails appends or syncs when told to."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.appends = 0
        self.epoch = 1
        self.quorum = Quorum(1)
        self.fail_with: Exception | None = None
        self.fail_syncs_with: Exception | None = None
        self.snapshot_due = False
        self.snapshots: list[list[str]] = []

    @property
    def end_offset(self) -> int:
        return len(self.records)

    def append(self, records: Sequence[Any]) -> int:
        if self.fail_with is not None:
            raise self.fail_with
        self.appends += 1
        self.records += records
        return len(self.records) - len(records)

    def sync(self, first: int) -> None:
        if self.fail_syncs_with is not None:
            del self.records[first:]
            raise self.fail_syncs_with

    def write_snapshot(self, image: MetadataImage) -> None:
        self.snapshots.append(list(image.topics))

    def snapshot_ended(self, error: BaseException | None) -> None:
        assert error is None
        self.snapshot_due = False


def accept_any(configs: Mapping[str, str]) -> None:
    """A check of topic settings that finds no fault."""


def registration(broker_id: int, rack: str | None = None) -> BrokerRegistration:
    endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092 + broker_id)
    return BrokerRegistration(broker_id, [endpoint], [LOG_DIR], rack)


def make_controller(brokers: int = 1, seed: int = 1, check: Any = accept_any) -> Controller:
    """A controller with brokers 1 to ``brokers`` started. Its log is ``controller._log``."""
    controller = Controller(
        MemoryLog(),
        MetadataImage("cluster"),
        Runtime(ManualClock(), random.Random(seed)),
        config=SETTINGS,
        check_topic_configs=check,
    )
    controller.start_brokers([registration(broker_id) for broker_id in range(1, brokers + 1)])
    return controller


def replayed(records: Sequence[Any]) -> MetadataImage:
    """The image that the records make from nothing."""
    image = MetadataImage("cluster")
    for record in records:
        replay(image, record, MetadataDelta())
    return image


def snapshot(log: LocalLog, image: MetadataImage) -> None:
    """Write a snapshot now, as the controller does when one is due. Raises what it fails with."""
    log.write_snapshot(image)
    log.snapshot_ended(None)
