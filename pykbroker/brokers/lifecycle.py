"""The brokers of one process come and go: registered at the start, stopped and started while the others go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pykbroker.brokers.broker import Broker
from pykbroker.controller.registrations import BrokerRegistration
from pykbroker.metadata.names import TRANSACTION_STATE
from pykbroker.wire.primitives import uuid_from_str

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.metadata.image import Endpoint
    from pykbroker.runtime.waits import Deferred


class BrokerLifecycle:
    """Those that run are in ``cluster.brokers``, those that were stopped meanwhile are kept here."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._stopped: dict[int, Broker] = {}

    def start_all(self, members: dict[int, list[Endpoint]], racks: Mapping[int, str] | None = None) -> None:
        """Make the brokers of this process, by node id, and register them so that clients find them.

        ``racks`` gives the rack of each; without it they all have broker.rack. Raises KafkaError KAFKA_STORAGE_ERROR where
        the metadata log cannot be written.
        """
        cluster = self.cluster
        for node_id, endpoints in members.items():
            rack = cluster.config["broker.rack"] if racks is None else racks[node_id]
            cluster.brokers[node_id] = Broker(cluster, node_id, endpoints, rack)
        registrations = [self._registration(broker) for broker in cluster.brokers.values()]
        epochs = cluster.metadata.start_brokers(registrations, clean=cluster.logs.clean)
        cluster.logs.broker_epoch = epochs[cluster.config.node_id]
        if TRANSACTION_STATE in cluster.metadata.image.topics:
            # Once clients are served: a transaction may be open, with nobody left to end it but its time limit.
            cluster.runtime.timers.after(0, self._load_transactions)

    def start(self, node_id: int) -> Deferred[None]:
        """Bring back a broker that was stopped, in a new life: its fetch sessions and producer ids are new ones.

        Fails with KafkaError KAFKA_STORAGE_ERROR where the metadata log cannot be written; then it is stopped as before.
        """
        cluster, former = self.cluster, self._stopped[node_id]
        broker = Broker(cluster, node_id, former.endpoints, former.rack)

        def started(epoch: int) -> None:
            del self._stopped[node_id]
            cluster.brokers[node_id] = broker
            if node_id == cluster.config.node_id:
                cluster.logs.broker_epoch = epoch

        return cluster.controller.start_broker(self._registration(broker)).map(started)

    def begin_stop(self, node_id: int) -> Deferred[None]:
        """A broker is about to stop: what it leads moves, and who waits there is answered."""
        self.cluster.brokers[node_id].leaving = True
        return self.cluster.controller.begin_shutdown(node_id)

    def stop(self, node_id: int) -> Deferred[None]:
        """Fence a broker, whose connections have ended, while the others go on. Fails with KafkaError KAFKA_STORAGE_ERROR
        where the metadata log cannot be written.
        """

        def stopped(_: None) -> None:
            broker = self._stopped[node_id] = self.cluster.brokers.pop(node_id)
            broker.fetch_sessions.close()

        return self.cluster.controller.fence_broker(node_id).map(stopped)

    def _load_transactions(self) -> None:
        self.cluster.transactions.load()

    def _registration(self, broker: Broker) -> BrokerRegistration:
        directories = [uuid_from_str(directory_id) for directory_id in self.cluster.logs.directory_ids]
        return BrokerRegistration(broker.node_id, broker.endpoints, directories, broker.rack)
