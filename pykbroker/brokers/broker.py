"""One broker of the process: a node id, its listeners, and the state of its own connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.brokers.producer_ids import ProducerIds
from pykbroker.partitions.fetch_sessions import FetchSessions

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
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

    def next_connection_id(self) -> int:
        """A new connection id, for logs and telemetry."""
        self.connections_made += 1
        return self.connections_made

    def next_producer_id(self) -> int:
        """A new producer id. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS while the broker has no block of them."""
        return self.producer_ids.take()
