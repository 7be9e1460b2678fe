"""The state that the brokers of one process share: logs, metadata, coordinators, time.

Everything that a process has once is created here. ``partition_table.py`` keeps the partitions in line with the metadata,
``lifecycle.py`` starts and stops brokers.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.brokers.auto_creation import AutoCreation
from pykbroker.brokers.partition_table import PartitionTable
from pykbroker.config.java_classes import RACK_AWARE
from pykbroker.config.loggers import LogLevels
from pykbroker.controller.start import open_metadata
from pykbroker.coordination.coordinators import TRANSACTIONS
from pykbroker.metadata.features import CURRENT, Features
from pykbroker.metadata.ids import random_id
from pykbroker.partitions.dormant_logs import DormantLogs
from pykbroker.runtime.runtime import Runtime
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.old_formats import OldFormatError
from pykbroker.wire.primitives import uuid_from_str, uuid_to_str

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.brokers.broker import Broker
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.controller.controller import Controller
    from pykbroker.controller.port import ControllerPort
    from pykbroker.coordination.host import MarkerPort, TransactionPort
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.log_moves import LogMoves
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.clock import Clock
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.delegation_tokens import TokenSecrets
    from pykbroker.storage.disk import Disk

log = logging.getLogger(__name__)


class BrokerEndPoint(NamedTuple):
    """A running broker as clients of one listener see it."""

    node_id: int
    host: str
    port: int
    rack: str | None


class BrokerConfigRules:
    """The rules of settings for the controller, imported with the first request that needs them, since start-up counts."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config

    def check_topic_configs(self, configs: Mapping[str, str], /) -> None:
        from pykbroker.config.validation import check_topic_configs  # noqa: PLC0415

        check_topic_configs(self._config, configs)

    def plan_alteration(
        self, image: MetadataImage, alteration: Alteration, broker_id: int, /
    ) -> Mapping[str, str | None]:
        from pykbroker.config.resources import planned  # noqa: PLC0415

        return planned(self._config, image, alteration, broker_id)


class Cluster:
    """See the module."""

    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        controller: Controller,
        runtime: Runtime,
        port: Callable[[Controller], ControllerPort] | None = None,
    ) -> None:
        self.config = config
        self.logs = logs
        #: The controller of this process; only its start and its end, and what is installed in it, are for its owner.
        self.local_controller = controller
        #: What everybody reads, and the port by which it is changed.
        self.metadata: MetadataSource = controller
        self.controller: ControllerPort = controller if port is None else port(controller)
        #: The feature levels that brokers support.
        self.features: Features = controller.features
        self.auto_creation = AutoCreation(self.controller, config)
        self.runtime = runtime
        self.dormant = DormantLogs(self.runtime, logs.directories)
        #: The running brokers by node id, maintained by ``BrokerLifecycle``.
        self.brokers: dict[int, Broker] = {}
        #: Whether the rack-aware replica selector is configured (KIP-392).
        self.reads_by_rack: bool = config["replica.selector.class"] == RACK_AWARE
        #: The authorizer; None permits everything.
        self.authorizer: Authorizer | None = _authorizer(config, self.metadata, runtime)
        if self.authorizer is not None:
            self.metadata.subscribe(self._follow_access)
        #: Validates altered settings of a broker's secured listeners; raises KafkaError. None without such listeners.
        self.check_listeners: Callable[[int, Mapping[str, str]], None] | None = None
        #: The levels of the process's loggers that this cluster has altered.
        self.log_levels = LogLevels()
        self._token_secrets: TokenSecrets | None = None
        self._log_moves: LogMoves | None = None
        #: The number of logs recovered after an unclean shutdown, and the seconds that took.
        self.recovered, self.recovery_s = 0, 0.0
        self._table = PartitionTable(config, logs, self.metadata, runtime, self.dormant)
        controller.prepare_with(self._table.make_room)
        self._partitions, self._partitions_by_id = self._table.by_name, self._table.by_id

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
        features: Features = CURRENT,
        port: Callable[[Controller], ControllerPort] | None = None,
    ) -> Cluster:
        """Open the cluster in the log directories ``directory`` and ``others``, or create it if they are empty.

        ``directory`` holds the metadata log and, unless ``metadata_apart``, partitions as ``others`` do. ``port`` is the way from
        the brokers to the controller; without it they call it. Raises OSError,
        KafkaError KAFKA_STORAGE_ERROR, or an error of metadata or storage that says what is wrong with the data.
        """
        logs = LogManager(
            directory,
            disk,
            clock,
            node_id=config.node_id,
            cluster_id=_cluster_id(disk, (directory, *others), rng),
            random=rng,
            others=others,
            metadata_apart=metadata_apart,
        )
        logs.load()
        runtime = Runtime(clock, rng)

        controller = open_metadata(
            logs.open,
            disk,
            str(directory),
            node_id=config.node_id,
            cluster_id=logs.cluster_id,
            runtime=runtime,
            config=config,
            rules=BrokerConfigRules(config),
            features=features,
            directory_id=uuid_from_str(logs.metadata_directory_id),
        )
        cluster = cls(config, logs, controller, runtime, port)
        logs.directories.put_strays_aside({key: each.topic_id for key, each in cluster._partitions.items()})
        cluster.dormant.partitions.update(cluster._partitions[key] for key in logs.unopened(cluster._partitions))
        if not logs.clean:
            cluster._recover()
        return cluster

    def _recover(self) -> None:
        """After an unclean shutdown: open, and thereby recover, every log that was not closed cleanly, so that no client
        waits for that later.
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

        ``apply`` may be a thread pool's map, since closing a log waits for the disk.
        """
        self.runtime.slices.stop()
        self.local_controller.stop_brokers()
        self._table.finish()
        self.logs.shutdown(apply)

    # ---- brokers -----------------------------------------------------------------------------------------------------

    @property
    def marker_port(self) -> MarkerPort:
        """The way from a broker to the leaders of partitions, all in this process."""
        from pykbroker.coordination.markers import LocalMarkers  # noqa: PLC0415 - start-up counts

        return LocalMarkers(self.partition, self._leader_of)

    @property
    def transaction_port(self) -> TransactionPort:
        """The way from a broker to the coordinators of transactional ids, all in this process."""
        from pykbroker.coordination.transactions.local_port import LocalTransactions  # noqa: PLC0415 - start-up counts

        return LocalTransactions(self._coordinator_of)

    def _leader_of(self, partition: Partition) -> Broker | None:
        """The broker of this process that leads a partition."""
        return self.brokers.get(partition.leader)

    def _coordinator_of(self, transactional_id: str) -> TransactionCoordinator | None:
        """The coordinator of a transactional id in this process."""
        image = self.metadata.image
        index = TRANSACTIONS.partition_of(transactional_id, image, self.config)
        partition = self.partition(TRANSACTIONS.topic, index)
        broker = None if partition is None else self._leader_of(partition)
        return None if broker is None else broker.transactions

    def nodes(self, listener: str) -> list[BrokerEndPoint]:
        """The running brokers that have the listener, by node id."""
        return [
            BrokerEndPoint(broker.id, endpoint.host, endpoint.port, broker.rack)
            for broker in self.metadata.image.active_brokers()
            if (endpoint := broker.endpoints.get(listener)) is not None
        ]

    @property
    def log_moves(self) -> LogMoves:
        """Moves between log directories, created on first use."""
        if self._log_moves is None:
            from pykbroker.partitions.log_moves import LogMoves  # noqa: PLC0415 - start-up counts

            self._log_moves = LogMoves(self.runtime, self.logs)
        return self._log_moves

    @property
    def token_secrets(self) -> TokenSecrets | None:
        """The secrets of delegation tokens, created on first use; None if delegation tokens are disabled."""
        if self._token_secrets is None:
            from pykbroker.security.delegation_tokens import TokenSecrets, secret_of  # noqa: PLC0415 - few clusters have them

            secret = secret_of(self.config)
            if secret is not None:
                image = self.metadata.image
                self._token_secrets = TokenSecrets(secret, image.delegation_tokens, self.runtime.random)
                self.metadata.subscribe(self._token_secrets.follow)
        return self._token_secrets

    # ---- partitions ----------------------------------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def partition_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        return self._partitions_by_id.get((topic_id, index))

    def partitions(self) -> Iterator[Partition]:
        """All partitions, in no particular order."""
        return iter(self._partitions.values())

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id, or None."""
        topic = self.metadata.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def _follow_access(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Access lists have changed, and with them what fetch sessions may read."""
        del image
        if delta.acls:
            for broker in self.brokers.values():
                broker.fetch_sessions.look_again()


def _authorizer(config: BrokerConfig, metadata: MetadataSource, runtime: Runtime) -> Authorizer | None:
    """The configured authorizer, which follows the metadata; None without ``authorizer.class.name``."""
    if not config["authorizer.class.name"]:
        return None
    from pykbroker.config.authorizer import AuthorizerSettings  # noqa: PLC0415 - few clusters have one
    from pykbroker.security.authorizer import Authorizer  # noqa: PLC0415

    settings = AuthorizerSettings.of(config)
    authorizer = Authorizer(settings.super_users, otherwise=settings.allow_everyone, now=runtime.clock.monotonic)
    authorizer.load(metadata.image)
    metadata.subscribe(authorizer.follow)
    return authorizer


def _cluster_id(disk: Disk, directories: Iterable[Path], rng: random.Random) -> str:
    """The cluster id in the log directories; a random one for new ones."""
    for directory in directories:
        found = checkpoints.read_meta_properties(disk, str(directory)).get("cluster.id")
        if found is not None:
            return found
    return uuid_to_str(random_id(rng))
