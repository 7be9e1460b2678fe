"""One broker: a node id, its listeners, and its node: the store with its partitions, its coordinators, its fetch sessions, and
its view of the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.config.java_classes import RACK_AWARE
from pykbroker.coordination.coordinators import GROUPS, SHARES, TRANSACTIONS, Coordinators
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.config import LogConfig
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.brokers.auto_creation import AutoCreation
    from pykbroker.brokers.producer_ids import ProducerIds
    from pykbroker.brokers.replica_fetcher import Peers
    from pykbroker.brokers.security import BrokerSecurity
    from pykbroker.brokers.store import Store
    from pykbroker.brokers.streams_topics import StreamsTopics
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.config.loggers import LogLevels
    from pykbroker.controller.port import ControllerPort
    from pykbroker.coordination.groups.coordinator import GroupCoordinator
    from pykbroker.coordination.host import MarkerPort, ShareStatePort, TransactionPort
    from pykbroker.coordination.share.coordinator import ShareCoordinator
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.features import Features
    from pykbroker.metadata.image import Endpoint, MetadataImage, PartitionImage
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.fetch_sessions import FetchSessions
    from pykbroker.partitions.log_moves import LogMoves
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.security.context import RequestContext
    from pykbroker.security.delegation_tokens import TokenSecrets
    from pykbroker.share_partitions.dead_letters.places import LetterPlace
    from pykbroker.share_partitions.manager import SharePartitions
    from pykbroker.telemetry.manager import ClientTelemetry

#: Idle time after which a fetch session may be evicted for another, in milliseconds (KIP-227; a constant in Kafka, too).
_SESSION_EVICTION_MS = 120_000


class WrongBroker(ValueError):
    """The broker does not belong to this process, or already is in the requested state."""


class BrokerEndPoint(NamedTuple):
    """A running broker as clients of one listener see it."""

    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(slots=True, eq=False, repr=False)
class SharedByBrokers:
    """What the brokers of one process have in common."""

    config: BrokerConfig
    runtime: Runtime
    controller: ControllerPort
    #: The feature levels that brokers support.
    features: Features
    #: Makes what creates topics, with the first of them.
    auto_creation: Callable[[], AutoCreation]
    security: BrokerSecurity
    log_levels: LogLevels
    #: The running brokers of the process by node id.
    brokers: Mapping[int, Broker]
    #: The controller as a client asks it by way of a broker; None if the broker may do it, as the controller is in its process.
    on_behalf: Callable[[RequestContext], ControllerPort] | None = None
    #: The way to brokers in other processes for what is no replication, and that for dead letters, which may wait for followers there; None
    #: if there are none.
    peers: Peers | None = None
    letter_peers: Peers | None = None


class Broker:
    """See the module."""

    def __init__(
        self,
        shared: SharedByBrokers,
        store: Store,
        metadata: MetadataSource,
        node_id: int,
        endpoints: list[Endpoint],
        rack: str | None = None,
    ) -> None:
        config, runtime = shared.config, shared.runtime
        self.node_id = node_id
        self.rack = rack
        #: The advertised endpoints, one per listener.
        self.endpoints = endpoints
        self.config = config
        self.runtime = runtime
        self.metadata = metadata
        self.controller = shared.controller
        self.features = shared.features
        self._shared = shared
        #: The authorizer; None permits everything.
        self.authorizer = shared.security.authorizer
        self.log_levels = shared.log_levels
        self.store = store
        self.logs = store.logs
        self.dormant = store.dormant
        #: The partitions that are here (``Store.partition``); ``absent`` says of others whether they exist.
        self.partition = store.partition
        self.partition_by_id = store.partition_by_id
        #: The same by (topic, index) and (topic id, index), without a call of Python: each produce and fetch comes there.
        self.find = store.table.by_name.get
        self.find_by_id = store.table.by_id.get
        self._security = shared.security
        self._brokers = shared.brokers
        self.fetch_max_bytes: int = config["fetch.max.bytes"]
        #: Whether the rack-aware replica selector is configured (KIP-392).
        self.reads_by_rack: bool = config["replica.selector.class"] == RACK_AWARE
        #: Validates altered settings of the broker's secured listeners; raises KafkaError. None without such listeners.
        self.check_listeners: Callable[[Mapping[str, str]], None] | None = None
        #: The broker is stopping: waiting fetches are answered with the records that exist.
        self.leaving = False
        #: Connections accepted so far.
        self.connections_made = 0
        self.coordinators = Coordinators(self)
        #: The share partitions that the broker leads; None before the first request of share groups' records.
        self.started_share_partitions: SharePartitions | None = None
        #: What clients' metrics are taken with; None before the first request of client telemetry.
        self.started_telemetry: ClientTelemetry | None = None
        self._unsubscribe: Callable[[], None] | None = None
        if self.authorizer is not None:
            self._unsubscribe = metadata.subscribe(self._follow_access)

    def check_listeners_by(self, check: Callable[[Mapping[str, str]], None] | None) -> None:
        """Have altered settings of the broker's secured listeners validated by ``check`` from now on."""
        self.check_listeners = check

    def close(self) -> None:
        """The broker has stopped; what waits in it is answered."""
        if self._has_fetch_sessions:
            self.fetch_sessions.close()
        if self.started_share_partitions is not None:
            self.started_share_partitions.close()
        if self.started_telemetry is not None:
            self.started_telemetry.close()
        self.coordinators.close()
        if self._unsubscribe is not None:
            self._unsubscribe()

    def controller_for(self, ctx: RequestContext | None) -> ControllerPort:
        """The controller, as this client asks it, or without one this broker."""
        on_behalf = self._shared.on_behalf
        return self.controller if ctx is None or on_behalf is None else on_behalf(ctx)

    # What it coordinates

    @cached_property
    def groups(self) -> GroupCoordinator:
        """The coordinator of the groups whose partitions the broker leads."""
        groups: GroupCoordinator = self.coordinators[GROUPS]
        return groups

    @cached_property
    def transactions(self) -> TransactionCoordinator:
        """The coordinator of the transactional ids whose partitions the broker leads."""
        transactions: TransactionCoordinator = self.coordinators[TRANSACTIONS]
        return transactions

    @cached_property
    def marker_port(self) -> MarkerPort:
        """The way to the leaders of partitions."""
        from pykbroker.coordination.markers import LocalMarkers

        local = LocalMarkers(self.metadata, self._brokers)
        peers = self._shared.peers
        if peers is None:
            return local
        from pykbroker.brokers.remote_transactions import RemoteMarkers

        return RemoteMarkers(local, self.metadata, self.node_id, peers, self.runtime.wake_queue)

    @cached_property
    def transaction_port(self) -> TransactionPort:
        """The way to the coordinators of transactional ids."""
        from pykbroker.coordination.transactions.local_port import LocalTransactions

        local = LocalTransactions(self._transactions_of)
        peers = self._shared.peers
        if peers is None:
            return local
        from pykbroker.brokers.remote_transactions import RemoteTransactions

        return RemoteTransactions(local, self.metadata, self.node_id, peers, self.config)

    def _transactions_of(self, transactional_id: str) -> TransactionCoordinator | None:
        """The coordinator of a transactional id; None if it does not run here."""
        image = self.metadata.image
        partition = image.partition(TRANSACTIONS.topic, TRANSACTIONS.partition_of(transactional_id, image, self.config))
        leader = None if partition is None else self._brokers.get(partition.leader)
        return None if leader is None else leader.transactions

    @cached_property
    def share_states(self) -> ShareStatePort:
        """The way to the share coordinators."""
        from pykbroker.coordination.share.port import ShareStates

        return ShareStates(self.runtime, self._share_coordinator_of, self.auto_creation.create)

    def _share_coordinator_of(self, key: str) -> ShareStatePort | None:
        """The share coordinator of a key, here or at another broker; None if none runs."""
        image = self.metadata.image
        partition = image.partition(SHARES.topic, SHARES.partition_of(key, image, self.config))
        leader = None if partition is None else self._brokers.get(partition.leader)
        if leader is not None:
            return leader.shares
        peers = self._shared.peers
        if peers is None or partition is None or partition.leader < 0:
            return None
        from pykbroker.brokers.remote_shares import RemoteShareCoordinator

        return RemoteShareCoordinator(peers, partition.leader)

    @property
    def shares(self) -> ShareCoordinator:
        """The coordinator of the share partitions whose state is in partitions that the broker leads."""
        shares: ShareCoordinator = self.coordinators[SHARES]
        return shares

    @cached_property
    def streams_topics(self) -> StreamsTopics:
        """What creates the internal topics of streams groups."""
        from pykbroker.brokers.streams_topics import StreamsTopics

        return StreamsTopics(self.controller, self.runtime.clock)

    @property
    def share_partitions(self) -> SharePartitions:
        """The share partitions that the broker leads, created on first use."""
        if self.started_share_partitions is None:
            from pykbroker.share_partitions.manager import SharePartitions

            self.started_share_partitions = SharePartitions(self)
        return self.started_share_partitions

    @property
    def telemetry(self) -> ClientTelemetry:
        """What clients' metrics are taken with, created on first use."""
        if self.started_telemetry is None:
            from pykbroker.telemetry.manager import ClientTelemetry

            self.started_telemetry = ClientTelemetry(self)
        return self.started_telemetry

    # Its partitions, and those of others

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        """The fetch sessions of consumers and followers."""
        from pykbroker.partitions.fetch_sessions import FetchSessions

        slots = self.config["max.incremental.fetch.session.cache.slots"]
        return FetchSessions(self.runtime, slots=slots, eviction_ms=_SESSION_EVICTION_MS)

    @cached_property
    def auto_creation(self) -> AutoCreation:
        """What creates topics that are asked for, one for all brokers of the process."""
        return self._shared.auto_creation()

    @cached_property
    def producer_ids(self) -> ProducerIds:
        """The producer ids that the broker gives to producers."""
        from pykbroker.brokers.producer_ids import ProducerIds

        return ProducerIds(lambda: self.controller.allocate_producer_ids(self.node_id))

    @property
    def _has_fetch_sessions(self) -> bool:
        return "fetch_sessions" in self.__dict__

    def at_leader(self, topic: str, index: int) -> Partition | None:
        """A partition at the broker that leads it, which runs in this process; None if none does."""
        known = self.metadata.image.partition(topic, index)
        leader = None if known is None else self._brokers.get(known.leader)
        return None if leader is None else leader.partition(topic, index)

    def high_watermark(self, topic: str, index: int) -> Deferred[int]:
        """That of a partition at its leader, here or in another process; -1 where nobody leads it. Fails with the KafkaError of who is
        asked.
        """
        led = self.at_leader(topic, index)
        if led is not None:
            return Deferred.completed(led.high_watermark)
        peers, known = self._shared.peers, self.metadata.image.partition(topic, index)
        if peers is None or known is None or known.leader < 0 or known.leader in self._brokers:
            return Deferred.completed(-1)
        from pykbroker.brokers.remote_offsets import latest_offset

        return latest_offset(peers, known.leader, topic, index)

    def remote_letters(self, topic: str, index: int) -> LetterPlace | None:
        """See ``ShareHost``."""
        peers, image = self._shared.letter_peers, self.metadata.image
        known = image.partition(topic, index)
        if peers is None or known is None or known.leader < 0 or known.leader in self._brokers:
            return None
        from pykbroker.brokers.remote_letters import LetterLeader, RemoteLetters

        config = LogConfig.from_settings(self.config.effective_topic_settings(image.topic_config(topic)))
        place = LetterLeader(known.leader, topic, image.topics[topic].id, index)
        return RemoteLetters(peers, place, self.runtime, config.most_batch_bytes)

    def absent(self, topic: str, index: int) -> ErrorCode:
        """Why a partition is not here: it belongs to other brokers, or it does not exist."""
        exists = self.metadata.image.partition(topic, index) is not None
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def placed(self, topic: str | bytes, index: int) -> PartitionImage | None:
        """Where a partition is, whether here or on other brokers, by its topic's name or id; None if it does not exist."""
        name = topic if isinstance(topic, str) else self.topic_name(topic)
        return None if name is None else self.metadata.image.partition(name, index)

    def partitions(self) -> Iterator[Partition]:
        """All partitions that are here, in no particular order."""
        return self.store.partitions()

    @property
    def log_moves(self) -> LogMoves:
        """Moves between its log directories."""
        return self.store.log_moves

    # Its view of the cluster

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id, or None."""
        topic = self.metadata.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def nodes(self, listener: str) -> list[BrokerEndPoint]:
        """The running brokers that have the listener, by node id."""
        return [
            BrokerEndPoint(broker.id, endpoint.host, endpoint.port, broker.rack)
            for broker in self.metadata.image.active_brokers()
            if (endpoint := broker.endpoints.get(listener)) is not None
        ]

    @property
    def is_only(self) -> bool:
        """Whether no other broker is registered and running."""
        return self.store.replication is None and len(self._brokers) == 1

    @property
    def token_secrets(self) -> TokenSecrets | None:
        """The secrets of delegation tokens; None if delegation tokens are disabled."""
        return self._security.token_secrets

    def _follow_access(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Access lists have changed, and with them what fetch sessions may read."""
        del image
        if delta.acls and self._has_fetch_sessions:
            self.fetch_sessions.look_again()

    def next_connection_id(self) -> int:
        """A new connection id, for logs and telemetry."""
        self.connections_made += 1
        return self.connections_made

    def next_producer_id(self) -> int:
        """A new producer id. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS while the broker has no block of them."""
        return self.producer_ids.take()
