"""What the brokers of one process share: the store, the metadata, the coordinators, time.

The cluster owns the partitions. It follows the metadata image: a new partition is here (and its log can be opened)
before anybody is told of its topic, a deleted one is gone before its deletion is answered.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.brokers.auto_creation import AutoCreation
from pykbroker.brokers.broker import Broker
from pykbroker.brokers.discarding import Discards
from pykbroker.controller.registrations import BrokerRegistration
from pykbroker.controller.start import open_metadata
from pykbroker.metadata.ids import random_id
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.partitions.dormant_logs import DormantLogs
from pykbroker.partitions.partition import Partition
from pykbroker.partitions.replica_selector import RACK_AWARE
from pykbroker.runtime.runtime import Runtime
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.old_formats import OldFormatError
from pykbroker.wire.primitives import uuid_from_str, uuid_to_str

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.controller.controller import Controller
    from pykbroker.controller.port import ControllerPort
    from pykbroker.coordination.groups.coordinator import GroupCoordinator
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import Endpoint, MetadataImage
    from pykbroker.partitions.log_moves import LogMoves
    from pykbroker.runtime.clock import Clock
    from pykbroker.runtime.waits import Deferred
    from pykbroker.storage.disk import Disk
    from pykbroker.storage.log.log import Log

log = logging.getLogger(__name__)


class BrokerEndPoint(NamedTuple):
    """A live broker as clients of one listener see it."""

    node_id: int
    host: str
    port: int
    rack: str | None


class Cluster:
    """See the module."""

    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        metadata: Controller,
        runtime: Runtime,
    ) -> None:
        self.config = config
        self.logs = logs
        #: What is known of the cluster, and whom to ask for a change of it.
        self.metadata = metadata
        self.controller: ControllerPort = metadata
        self.auto_creation = AutoCreation(self.controller, config)
        self.runtime = runtime
        self._discards = Discards(logs, runtime.slices)
        self.dormant = DormantLogs(self.runtime, logs.directories)
        #: The brokers that run, by node id, and those that were stopped meanwhile.
        self.brokers: dict[int, Broker] = {}
        self._stopped: dict[int, Broker] = {}
        #: Whether consumers are sent to a replica in their own rack (KIP-392).
        self.reads_by_rack: bool = config["replica.selector.class"] == RACK_AWARE
        #: Where listeners have security: may they have what would be altered for this broker? Raises KafkaError.
        self.check_listeners: Callable[[Mapping[str, str]], None] | None = None
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None
        self._log_moves: LogMoves | None = None
        #: Logs that were recovered at the start, after a kill, and how many seconds that took.
        self.recovered, self.recovery_s = 0, 0.0
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._partitions_by_id: dict[tuple[bytes, int], Partition] = {}
        self._load(metadata.image)
        metadata.subscribe(self._follow)

    @classmethod
    def open(
        cls,
        config: BrokerConfig,
        directory: Path,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        *,
        others: Sequence[Path] = (),
        metadata_apart: bool = False,
    ) -> Cluster:
        """The cluster whose data lies in ``directory``, and in ``others``; a new one where there is none.

        ``directory`` holds the metadata log, and partitions as the others do, unless ``metadata_apart``. Raises OSError,
        KafkaError, or one of metadata's and storage's errors that say what is wrong with the data.
        """
        logs = LogManager(
            directory,
            disk,
            clock,
            node_id=config.node_id,
            cluster_id=_cluster_id(disk, (directory, *others)) or uuid_to_str(random_id(rng)),
            random=rng,
            others=others,
            metadata_apart=metadata_apart,
        )
        logs.load()
        runtime = Runtime(clock, rng)

        def check_topic_configs(configs: Mapping[str, str]) -> None:
            from pykbroker.config.validation import check_topic_configs as check  # noqa: PLC0415 - start-up counts

            check(config, configs)

        metadata = open_metadata(
            logs.open,
            disk,
            str(directory),
            node_id=config.node_id,
            cluster_id=logs.cluster_id,
            runtime=runtime,
            config=config,
            check_topic_configs=check_topic_configs,
        )
        cluster = cls(config, logs, metadata, runtime)
        logs.directories.put_strays_aside(cluster._partitions)
        cluster.dormant.partitions.update(cluster._partitions[key] for key in logs.unopened(cluster._partitions))
        if not logs.clean:
            cluster._recover()
        return cluster

    def _recover(self) -> None:
        """After a kill: open every log that does not lie as it was closed, which recovers it, so that no client has to wait
        for that later.
        """
        started, found = self.runtime.clock.monotonic(), len(self.dormant.partitions)
        for partition in sorted(self.dormant.partitions, key=lambda each: (each.topic, each.index)):
            if self.logs.needs_recovery((partition.topic, partition.index)):
                try:
                    _ = partition.log
                    self.recovered += 1
                except OldFormatError as error:
                    log.error("The log of %s-%d cannot be opened: %s", partition.topic, partition.index, error)
        if found:
            self.recovery_s = self.runtime.clock.monotonic() - started
            log.info(
                "Recovered %d of %d logs after an unclean shutdown in %.1f s", self.recovered, found, self.recovery_s
            )

    def shutdown(self, apply: Callable[..., Iterable[Any]] = map) -> None:
        """Fence the brokers, close the logs, leave the marker of a clean shutdown.

        ``apply`` may be a thread pool's map, for closing waits for the disk.
        """
        self.runtime.slices.stop()
        self.metadata.stop_brokers()
        self._discards.finish()
        self.logs.shutdown(apply)

    # ---- brokers -----------------------------------------------------------------------------------------------------

    def start_brokers(self, members: dict[int, list[Endpoint]], racks: Mapping[int, str] | None = None) -> None:
        """Make the brokers of this process, by node id, and register them so that clients find them.

        ``racks`` gives the rack of each; without it they all have broker.rack.
        """
        for node_id, endpoints in members.items():
            rack = self.config["broker.rack"] if racks is None else racks[node_id]
            self.brokers[node_id] = Broker(self, node_id, endpoints, rack)
        registrations = [self._registration(broker) for broker in self.brokers.values()]
        epochs = self.metadata.start_brokers(registrations, clean=self.logs.clean)
        self.logs.broker_epoch = epochs[self.config.node_id]
        if TRANSACTION_STATE in self.metadata.image.topics:
            # Once clients are served: a transaction may be open, with nobody left to end it but its time limit.
            self.runtime.timers.after(0, self._load_transactions)

    def start_broker(self, node_id: int) -> Deferred[None]:
        """Bring back a broker that was stopped, in a new life: its fetch sessions and producer ids are new ones.

        Fails with KafkaError where the metadata log cannot be written; then it is stopped as before.
        """
        former = self._stopped[node_id]
        broker = Broker(self, node_id, former.endpoints, former.rack)

        def started(epoch: int) -> None:
            del self._stopped[node_id]
            self.brokers[node_id] = broker
            if node_id == self.config.node_id:
                self.logs.broker_epoch = epoch

        return self.controller.start_broker(self._registration(broker)).map(started)

    def begin_stop(self, node_id: int) -> Deferred[None]:
        """A broker is about to stop: what it leads moves, and who waits there is answered."""
        self.brokers[node_id].leaving = True
        return self.controller.begin_shutdown(node_id)

    def stop_broker(self, node_id: int) -> Deferred[None]:
        """Fence a broker, whose connections have ended, while the others go on. Fails with KafkaError where the metadata log
        cannot be written.
        """

        def stopped(_: None) -> None:
            broker = self._stopped[node_id] = self.brokers.pop(node_id)
            broker.fetch_sessions.close()

        return self.controller.fence_broker(node_id).map(stopped)

    def _registration(self, broker: Broker) -> BrokerRegistration:
        directories = [uuid_from_str(directory_id) for directory_id in self.logs.directory_ids]
        return BrokerRegistration(broker.node_id, broker.endpoints, directories, broker.rack)

    def _load_transactions(self) -> None:
        self.transactions.load()

    def node(self, node_id: int) -> Broker:
        """A broker that runs. KeyError for any other."""
        return self.brokers[node_id]

    def nodes(self, listener: str) -> list[BrokerEndPoint]:
        """The live brokers that have the listener, by id."""
        return [
            BrokerEndPoint(broker.id, endpoint.host, endpoint.port, broker.rack)
            for broker in self.metadata.image.active_brokers()
            if (endpoint := broker.endpoints.get(listener)) is not None
        ]

    @property
    def groups(self) -> GroupCoordinator:
        """The group coordinator; made on first use, since not every client has a group."""
        if self._groups is None:
            from pykbroker.coordination.groups.coordinator import GroupCoordinator  # noqa: PLC0415 - start-up counts

            self._groups = GroupCoordinator(self)
        return self._groups

    @property
    def transactions(self) -> TransactionCoordinator:
        """The transaction coordinator; made on first use, or at the start where there were transactions before."""
        if self._transactions is None:
            from pykbroker.coordination.markers import LocalMarkers  # noqa: PLC0415 - start-up counts
            from pykbroker.coordination.transactions.coordinator import TransactionCoordinator  # noqa: PLC0415 - start-up counts

            self._transactions = TransactionCoordinator(self, LocalMarkers(self))
        return self._transactions

    @property
    def log_moves(self) -> LogMoves:
        """Moves between log directories; made on first use."""
        if self._log_moves is None:
            from pykbroker.partitions.log_moves import LogMoves  # noqa: PLC0415 - start-up counts

            self._log_moves = LogMoves(self.runtime, self.logs)
        return self._log_moves

    # ---- partitions ----------------------------------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def partition_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        return self._partitions_by_id.get((topic_id, index))

    def partitions(self) -> Iterator[Partition]:
        """All partitions, in no particular order."""
        return iter(self._partitions.values())

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id; None when there is none."""
        topic = self.metadata.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def open_log(self, partition: Partition) -> Log:
        """The log of a partition, made when it is new. Raises KafkaError KAFKA_STORAGE_ERROR."""
        self.dormant.partitions.discard(partition)
        return self.logs.open(partition.topic, partition.topic_id, partition.index, self._log_config(partition.topic))

    def _log_config(self, topic: str) -> LogConfig:
        overrides = self.metadata.image.topic_config(topic)
        return LogConfig.from_settings(self.config.effective_topic_settings(overrides))

    # ---- following the metadata ------------------------------------------------------------------------------------------

    def _load(self, image: MetadataImage) -> None:
        self._apply_broker_settings(image)
        for topic in image.topics.values():
            for state in topic.in_order():
                self._add(Partition(self, topic.name, topic.id, state))

    def _add(self, partition: Partition) -> None:
        self._partitions[partition.topic, partition.index] = partition
        self._partitions_by_id[partition.topic_id, partition.index] = partition

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        for topic in delta.deleted_topics:
            config = self._log_config(topic.name)
            for index in range(len(topic.partitions)):
                self._remove(topic.name, topic.id, index, config)
        self._discards.begin()
        for change in delta.partitions:
            partition = self._partitions_by_id.get((change.topic.id, change.after.index))
            if partition is not None:
                partition.apply(change.after)
            elif change.topic.id in image.topics_by_id:
                key = change.topic.name, change.after.index
                self._discards.make_room(key)
                self._add(Partition(self, change.topic.name, change.topic.id, change.after))
                self.logs.directories.place(key)
        for kind, name in delta.configs:
            if kind == TOPIC_RESOURCE and name in image.topics:
                self._reconfigure(name)
            elif kind == BROKER_RESOURCE:
                self._apply_broker_settings(image)
                self._reconfigure_all()

    def _apply_broker_settings(self, image: MetadataImage) -> None:
        """Broker settings altered at run time lie over those of the file (KIP-226)."""
        this_broker = str(self.config.node_id)
        self.config.apply_dynamic(image.config(BROKER_RESOURCE, ""), image.config(BROKER_RESOURCE, this_broker))

    def _remove(self, topic: str, topic_id: bytes, index: int, config: LogConfig) -> None:
        """From here on nobody finds the partition; its files go soon."""
        partition = self._partitions_by_id.pop((topic_id, index), None)
        if partition is None:
            return
        if self._partitions.get((topic, index)) is partition:
            del self._partitions[topic, index]
        partition.mark_deleted()
        self.dormant.partitions.discard(partition)
        self._discards.add(partition, config)

    def _reconfigure(self, topic: str) -> None:
        config = self._log_config(topic)
        for index in range(len(self.metadata.image.topics[topic].partitions)):
            partition = self._partitions.get((topic, index))
            if partition is not None and partition.opened_log is not None:
                partition.update_config(config)

    def _reconfigure_all(self) -> None:
        for topic in self.metadata.image.topics:
            self._reconfigure(topic)


def _cluster_id(disk: Disk, directories: Iterable[Path]) -> str | None:
    """The cluster that data directories belong to; None for new ones."""
    for directory in directories:
        found = checkpoints.read_meta_properties(disk, str(directory)).get("cluster.id")
        if found is not None:
            return found
    return None
