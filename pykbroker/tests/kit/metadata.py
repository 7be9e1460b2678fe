"""A metadata log on a disk in memory, and the controller on it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pykbroker.brokers.cluster import BrokerConfigRules
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.controller.controller import Controller
from pykbroker.controller.port import ControllerPort
from pykbroker.controller.registrations import BrokerRegistration
from pykbroker.controller.start import open_metadata
from pykbroker.controller.topics import NewTopic, TopicResult
from pykbroker.metadata.batches import decode_batch
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.features import ELR_VERSION, METADATA_VERSION
from pykbroker.metadata.image import BROKER_RESOURCE, Endpoint, MetadataImage
from pykbroker.metadata.local_log import LocalLog
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.metadata.snapshot import BOOTSTRAP, encode_snapshot
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.storage.checkpoints import replace_file
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.disk import Disk
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.primitives import uuid_from_str
from pykbroker.worlds.disk import SimulatedDisk

CONFIG = BrokerConfig({"num.partitions": "2"})
LOG_DIR = bytes(range(16))
#: Of a cluster that was formatted with one feature alone: the others are a test's to raise.
PLAIN: Mapping[str, int] = MappingProxyType({METADATA_VERSION: 33})


class MetadataDirectory:
    """A log directory that can be closed and opened again. ``levels`` are what a new one is formatted with; where they are
    None it is not formatted, and has what our new clusters have.
    """

    def __init__(
        self,
        path: Path = Path("/data"),
        disk: Disk | None = None,
        *,
        node_id: int = 1,
        levels: Mapping[str, int] | None = None,
        own_stores: bool = False,
    ) -> None:
        self.path = path
        self.own_stores = own_stores
        self.node_id = node_id
        self.disk = disk or SimulatedDisk()
        self.clock = ManualClock()
        self.open(levels)

    def _format(self, levels: Mapping[str, int]) -> None:
        """As Kafka's tool does it: the levels are what a log begins with that is empty."""
        records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
        data = encode_snapshot(records, epoch=0, last_contained_ms=0, now_ms=self.clock.now_ms())
        replace_file(self.disk, str(self.path / BOOTSTRAP), data)

    def open(self, levels: Mapping[str, int] | None = None) -> None:
        """Open it, whatever the last run left."""
        self.logs = LogManager(
            self.path, self.disk, self.clock, node_id=self.node_id, cluster_id="c", random=random.Random(1)
        )
        self.logs.load()
        if levels is not None:
            self._format(levels)
        self.runtime = Runtime(self.clock, random.Random(2))
        self.controller: Controller = open_metadata(
            self.logs.open,
            self.disk,
            str(self.path),
            node_id=self.node_id,
            cluster_id="c",
            runtime=self.runtime,
            config=CONFIG,
            rules=BrokerConfigRules(CONFIG),
            directory_id=uuid_from_str(self.logs.metadata_directory_id),
        )
        if self.own_stores:
            self.controller.use_own_stores()

    def close(self) -> None:
        """A clean shutdown."""
        self.controller.stop_brokers()
        self.logs.shutdown()

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    @property
    def log(self) -> LocalLog:
        return self.controller.log

    def records(self) -> list[MetadataRecord]:
        """All that the log holds."""
        return records_in(self.log)


def make_controller(brokers: int = 1) -> Controller:
    """The controller of a new, plain cluster with brokers 1 to ``brokers`` started."""
    controller = MetadataDirectory(levels=PLAIN).controller
    controller.start_brokers([registration(broker_id) for broker_id in range(1, brokers + 1)])
    return controller


def created(controller: Controller, *topics: NewTopic) -> list[TopicResult]:
    """Create topics, many in slices, and wait for it."""
    waiting = controller.create_topics(topics)
    while not waiting.done:
        controller._runtime.wake_queue.run()
    return waiting.value.result


def make_replicating_controller(brokers: int = 3, *, min_isr: int = 1, elr: int = 1) -> Controller:
    """The same where each broker has a store of its own."""
    levels = {**PLAIN, ELR_VERSION: elr}
    controller = MetadataDirectory(levels=levels, own_stores=True).controller
    controller.start_brokers([own_registration(broker_id) for broker_id in range(1, brokers + 1)])
    alter(controller, BROKER_RESOURCE, "", min_insync_replicas=str(min_isr))
    return controller


def own_registration(broker_id: int, previous_epoch: int = -1) -> BrokerRegistration:
    """That of a broker with a log directory of its own. ``previous_epoch`` is what its marker of a clean shutdown has."""
    found = registration(broker_id)
    found.log_dirs, found.previous_epoch = [bytes([broker_id]) * 16], previous_epoch
    return found


def alteration(resource_type: int, name: str, **settings: str | None) -> Alteration:
    """What sets settings of a resource, or removes those that are None; they have "_" for "."."""
    changes = [
        Change(setting.replace("_", "."), Operation.DELETE if value is None else Operation.SET, value)
        for setting, value in settings.items()
    ]
    return Alteration(resource_type, name, changes)


def alter(controller: ControllerPort, resource_type: int, name: str, **settings: str | None) -> None:
    """Set and remove settings of a resource."""
    assert controller.alter_configs([alteration(resource_type, name, **settings)], broker_id=1).value == [None]


def records_in(log: LocalLog) -> list[MetadataRecord]:
    """All that a metadata log holds."""
    return [record for header, data in log._log.batches(0) for record in decode_batch(header, data).records]


def snapshot(log: LocalLog, image: MetadataImage) -> None:
    """Write a snapshot now, as the controller does when one is due. Raises what it fails with."""
    log.write_snapshot(image)
    log.snapshot_ended(None)


def registration(broker_id: int, rack: str | None = None) -> BrokerRegistration:
    """A broker's, with one listener and one log directory."""
    endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092 + broker_id)
    return BrokerRegistration(broker_id, [endpoint], [LOG_DIR], rack)


def replayed(records: Sequence[MetadataRecord]) -> MetadataImage:
    """The image that the records make from nothing."""
    image = MetadataImage("cluster")
    for record in records:
        replay(image, record, MetadataDelta())
    return image
