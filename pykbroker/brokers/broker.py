"""One broker of the process: a node id, its listeners, and what belongs to its connections alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.brokers.producer_ids import ProducerIds
from pykbroker.partitions.fetch_sessions import FetchSessions

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.metadata.image import Endpoint

#: How long a fetch session must have been idle to make room for another (KIP-227; a constant in Kafka, too).
_SESSION_EVICTION_MS = 120_000


class WrongBroker(ValueError):
    """A broker that is not of this process, or is already what it is to become."""


class Broker:
    """See the module. Everything shared with the process's other brokers is in ``cluster``."""

    def __init__(self, cluster: Cluster, node_id: int, endpoints: list[Endpoint], rack: str | None = None) -> None:
        config = cluster.config
        self.cluster = cluster
        self.node_id = node_id
        self.rack = rack
        #: Where clients find this broker, one per listener.
        self.endpoints = endpoints
        self.fetch_max_bytes: int = config["fetch.max.bytes"]
        self.fetch_sessions = FetchSessions(
            cluster.runtime.clock,
            cluster.runtime.random,
            slots=config["max.incremental.fetch.session.cache.slots"],
            eviction_ms=_SESSION_EVICTION_MS,
        )
        #: About to stop: whoever waits for records is answered with what there is.
        self.leaving = False
        #: Connections that were accepted so far.
        self.connections_made = 0
        self.producer_ids = ProducerIds(lambda: cluster.controller.allocate_producer_ids(node_id))

    def next_connection_id(self) -> int:
        """A number for a connection, for logs and telemetry."""
        self.connections_made += 1
        return self.connections_made

    def next_producer_id(self) -> int:
        """A producer id nobody else has. Raises KafkaError with COORDINATOR_LOAD_IN_PROGRESS while there is none."""
        return self.producer_ids.take()
