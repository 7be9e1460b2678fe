"""The brokers of one process, as those see them who look at all: HTTP, tests, seeds, housekeeping.

Each broker owns its node (``broker.py``). What a process has once is created here: the controller, the runtime, what brokers
share. ``lifecycle.py`` starts and stops brokers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.brokers.broker import Broker, SharedByBrokers
from pykbroker.brokers.security import BrokerSecurity
from pykbroker.brokers.store import Store
from pykbroker.config.loggers import LogLevels
from pykbroker.controller.start import open_metadata
from pykbroker.metadata.features import CURRENT, Features
from pykbroker.metadata.ids import random_id
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.manager import LogManager
from pykbroker.wire.primitives import uuid_from_str, uuid_to_str

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.brokers.auto_creation import AutoCreation
    from pykbroker.brokers.memory_peers import MemoryPeers, PeerHandler
    from pykbroker.brokers.replica_fetcher import Peers
    from pykbroker.brokers.replica_manager import ReplicaManager
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.controller.controller import Controller
    from pykbroker.controller.port import ControllerPort
    from pykbroker.metadata.image import Endpoint, MetadataImage
    from pykbroker.metadata.replay import MetadataRecord
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.clock import Clock
    from pykbroker.security.context import RequestContext
    from pykbroker.storage.disk import Disk


class BrokerConfigRules:
    """The rules of settings for the controller, imported with the first request that needs them, since start-up counts."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config

    def check_topic_configs(self, configs: Mapping[str, str], /) -> None:
        from pykbroker.config.validation import check_topic_configs

        check_topic_configs(self._config, configs)

    def plan_alteration(
        self, image: MetadataImage, alteration: Alteration, broker_id: int, /
    ) -> Mapping[str, str | None]:
        from pykbroker.config.resources import planned

        return planned(self._config, image, alteration, broker_id)


class OwnStore(NamedTuple):
    """The log directories of a cluster hold one broker's partitions; those of others are given to ``Cluster.new_store``.

    With ``peer_handlers``, which gives the handler of an API key, a partition has a copy on each of its replicas, which are in this process;
    with ``peers``, the way of a broker to the others, they are elsewhere.
    """

    node_id: int
    peer_handlers: Callable[[int], PeerHandler] | None = None
    peers: Callable[[int], Peers] | None = None


class Governing(NamedTuple):
    """What everybody reads, and the port by which it is changed; ``local`` is the controller, if it is in this process."""

    metadata: MetadataSource
    controller: ControllerPort
    #: The feature levels that brokers support.
    features: Features
    local: Controller | None = None
    #: See ``SharedByBrokers``.
    on_behalf: Callable[[RequestContext], ControllerPort] | None = None
    peers: Peers | None = None
    letter_peers: Peers | None = None


class Cluster:
    """See the module."""

    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        governing: Governing,
        runtime: Runtime,
        own: OwnStore | None = None,
    ) -> None:
        self.config = config
        self._local_controller = governing.local
        self.metadata = governing.metadata
        self.controller = governing.controller
        self.features = governing.features
        self.runtime = runtime
        #: The running brokers by node id, maintained by ``BrokerLifecycle``.
        self.brokers: dict[int, Broker] = {}
        self.security = BrokerSecurity(config, self.metadata, runtime)
        self.authorizer = self.security.authorizer
        #: The levels of the process's loggers that this cluster has altered.
        self.log_levels = LogLevels()
        #: The way between brokers that have copies of their own; None where they share the store.
        self.peers: MemoryPeers | None = None
        self._peers_of = None if own is None else own.peers
        if own is not None and own.peer_handlers is not None:
            from pykbroker.brokers.memory_peers import MemoryPeers

            self.local_controller.use_own_stores()
            self.peers = MemoryPeers(self.brokers, runtime, own.peer_handlers)
            self._peers_of = self.peers.of
        #: The stores of brokers with copies of their own, by node id.
        self._own_stores: dict[int, Store] = {}
        #: The store of the process's log directories, which its brokers share unless they have their own: then the first broker's.
        self.store = self.new_store(logs, None if own is None else own.node_id)
        self.logs = logs
        if self.governs:
            self.local_controller.prepare_with(self._make_room)
        self._shared = SharedByBrokers(
            config=config,
            runtime=runtime,
            controller=self.controller,
            features=self.features,
            auto_creation=lambda: self.auto_creation,
            security=self.security,
            log_levels=self.log_levels,
            brokers=self.brokers,
            on_behalf=governing.on_behalf,
            peers=governing.peers,
            letter_peers=governing.letter_peers,
        )

    @cached_property
    def auto_creation(self) -> AutoCreation:
        """What creates topics that are asked for."""
        from pykbroker.brokers.auto_creation import AutoCreation

        return AutoCreation(self.controller, self.config)

    @property
    def governs(self) -> bool:
        """Whether the controller is in this process."""
        return self._local_controller is not None

    @property
    def local_controller(self) -> Controller:
        """The controller of this process; only its start and its end, and what is installed in it, are for its owner."""
        assert self._local_controller is not None, "the controllers are other processes"
        return self._local_controller

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
        own: OwnStore | None = None,
    ) -> Cluster:
        """Open the cluster in the log directories ``directory`` and ``others``, or create it if they are empty.

        ``directory`` holds the metadata log and, unless ``metadata_apart``, partitions as ``others`` do. ``port`` is the way from
        the brokers to the controller; without it they call it. Without ``own`` its brokers share the store. Raises OSError,
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
        governing = Governing(
            controller, controller if port is None else port(controller), controller.features, controller
        )
        cluster = cls(config, logs, governing, runtime, own)
        cluster.store.begin()
        return cluster

    def shutdown(self, apply: Callable[..., Iterable[Any]] = map) -> None:
        """Fence the brokers, close the logs, leave the marker of a clean shutdown.

        ``apply`` may be a thread pool's map, since closing a log waits for the disk.
        """
        self.runtime.slices.stop()
        for store in self.stores():
            if store.replication is not None:
                store.replication.end()
        if self.governs:
            self.local_controller.stop_brokers()
        for store in self.stores():
            store.shutdown(apply)

    def new_broker(
        self, node_id: int, endpoints: list[Endpoint], rack: str | None, store: Store | None = None
    ) -> Broker:
        """A broker of this process; it is not registered yet."""
        return Broker(self._shared, store or self.store, self.metadata_of(node_id), node_id, endpoints, rack)

    def metadata_of(self, node_id: int) -> MetadataSource:
        """What a broker reads: here all have one image, in the simulator each is behind by itself."""
        del node_id
        return self.metadata

    def new_store(self, logs: LogManager, node_id: int | None) -> Store:
        """The store of a broker, with copies of its own if brokers have them."""
        replication: ReplicaManager | None = None
        metadata = self.metadata if node_id is None else self.metadata_of(node_id)
        if self._peers_of is not None and node_id is not None:
            from pykbroker.brokers.replica_manager import ReplicaManager

            replication = ReplicaManager(
                node_id,
                self.config,
                logs,
                metadata,
                self.runtime,
                self._peers_of(node_id),
                self.controller.alter_partition,
                self.controller.assign_replicas_to_dirs,
            )
        store = Store(self.config, logs, metadata, self.runtime, node_id, replication)
        if replication is not None:
            self._own_stores[replication.node_id] = store
        return store

    def recover(self, store: Store, node_id: int) -> Deferred[None]:
        """The wait until the logs of a store that crashed are recovered, before ``usable_store`` takes its log directories up."""
        if store.usable:
            return Deferred.completed(None)
        from pykbroker.brokers.recovering import recover_in_thread

        return attempt(recover_in_thread, store.logs, self.metadata_of(node_id), self.config, node_id, self.runtime)

    def usable_store(self, store: Store, node_id: int) -> Store:
        """The store of a broker that stopped, or a new one on the same log directories if it crashed."""
        if store.usable:
            return store
        new = self.new_store(store.logs, node_id)
        new.begin()
        if store is self.store:
            self.store = new
        return new

    def _make_room(self, records: Sequence[MetadataRecord]) -> Callable[[], None] | None:
        """See ``PartitionTable.make_room``."""
        found = [work for store in self.stores() if (work := store.table.make_room(records)) is not None]
        if len(found) <= 1:
            return found[0] if found else None

        def make_room() -> None:
            for work in found:
                work()

        return make_room

    # What is in the stores of all brokers

    def partition(self, topic: str, index: int) -> Partition | None:
        """A partition as its leader has it if the leader runs here, else as any broker here has it."""
        found: Partition | None = None
        for store in self.stores():
            here = store.partition(topic, index)
            if here is not None:
                leader = self.brokers.get(here.leader)
                if leader is None or leader.store is store:
                    return here
                found = here
        return found

    def partitions(self) -> Iterator[Partition]:
        """All partitions, in no particular order, each once, as ``partition`` has it."""
        stores = self.stores()
        if len(stores) == 1:
            return stores[0].partitions()
        everywhere = (each for store in stores for each in store.partitions())
        return (each for each in everywhere if self.partition(each.topic, each.index) is each)

    def is_closed(self, partition: Partition) -> bool:
        """Whether the log of this partition is closed since the start."""
        return any(partition in store.dormant.partitions for store in self.stores())

    def open_logs(self, partitions: Iterable[Partition]) -> Deferred[list[None]]:
        """Open those of these partitions' logs that are closed; see ``DormantLogs.open``."""
        wanted = list(partitions)
        found = [
            (store.dormant, [each for each in wanted if each in store.dormant.partitions]) for store in self.stores()
        ]
        return gather([dormant.open(closed) for dormant, closed in found if closed])

    def stores(self) -> list[Store]:
        """Those of the brokers here, running or not, each once."""
        known = [self.store, *self._own_stores.values(), *(broker.store for broker in self.brokers.values())]
        return [store for store in dict.fromkeys(known) if store.usable]


def _cluster_id(disk: Disk, directories: Iterable[Path], rng: random.Random) -> str:
    """The cluster id in the log directories; a random one for new ones."""
    for directory in directories:
        found = checkpoints.read_meta_properties(disk, str(directory)).get("cluster.id")
        if found is not None:
            return found
    return uuid_to_str(random_id(rng))
