"""One broker of the process: a node id, its listeners, and the state of its own connections."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pykbroker.brokers.producer_ids import ProducerIds
from pykbroker.coordination.coordinators import GROUPS, TRANSACTIONS, Coordinators
from pykbroker.partitions.fetch_sessions import FetchSessions

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.coordination.groups.coordinator import GroupCoordinator
    from pykbroker.coordination.host import MarkerPort, TransactionPort
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator
    from pykbroker.metadata.image import Endpoint

#: Idle time after which a fetch session may be evicted for another, in milliseconds (KIP-227; a constant in Kafka, too).
_SESSION_EVICTION_MS = 120_000


class WrongBroker(ValueError):
    """The broker does not belong to this process, or already is in the requested state."""


class Broker:
    """See the module. ``cluster`` has everything that the brokers of the process share."""

    def __init__(self, cluster: Cluster, node_id: int, endpoints: list[Endpoint], rack: str | None = None) -> None:
        config = cluster.config
        self.cluster = cluster
        self.config = config
        self.runtime = cluster.runtime
        self.dormant = cluster.dormant
        self.authorizer = cluster.authorizer
        self.metadata = cluster.metadata
        self.partition = cluster.partition
        self.node_id = node_id
        self.rack = rack
        #: The advertised endpoints, one per listener.
        self.endpoints = endpoints
        self.fetch_max_bytes: int = config["fetch.max.bytes"]
        self.fetch_sessions = FetchSessions(
            cluster.runtime.clock,
            cluster.runtime.random,
            slots=config["max.incremental.fetch.session.cache.slots"],
            eviction_ms=_SESSION_EVICTION_MS,
        )
        #: The broker is stopping: waiting fetches are answered with the records that exist.
        self.leaving = False
        #: Connections accepted so far.
        self.connections_made = 0
        self.producer_ids = ProducerIds(lambda: cluster.controller.allocate_producer_ids(node_id))
        self.coordinators = Coordinators(self)

    @property
    def groups(self) -> GroupCoordinator:
        """The coordinator of the groups whose partitions the broker leads."""
        groups: GroupCoordinator = self.coordinators[GROUPS]
        return groups

    @property
    def transactions(self) -> TransactionCoordinator:
        """The coordinator of the transactional ids whose partitions the broker leads."""
        transactions: TransactionCoordinator = self.coordinators[TRANSACTIONS]
        return transactions

    @cached_property
    def marker_port(self) -> MarkerPort:
        """The way to the leaders of partitions."""
        return self.cluster.marker_port

    @cached_property
    def transaction_port(self) -> TransactionPort:
        """The way to the coordinators of transactional ids."""
        return self.cluster.transaction_port

    def close(self) -> None:
        """The broker has stopped; what waits in it is answered."""
        self.fetch_sessions.close()
        self.coordinators.close()

    def next_connection_id(self) -> int:
        """A new connection id, for logs and telemetry."""
        self.connections_made += 1
        return self.connections_made

    def next_producer_id(self) -> int:
        """A new producer id. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS while the broker has no block of them."""
        return self.producer_ids.take()
