"""The life of brokers: registered at the start, stopped and started while the others run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from pykbroker.controller.registrations import BrokerRegistration
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.primitives import uuid_from_str

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.brokers.store import Store
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import Endpoint, MetadataImage

log = logging.getLogger(__name__)


class BrokerLifecycle:
    """Running brokers are in ``cluster.brokers``, stopped ones are kept here."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._stopped: dict[int, Broker] = {}
        #: Until the stores of those that crashed have ended.
        self._ending: dict[int, Deferred[None]] = {}
        #: Those that ended and that the metadata does not show as fenced yet.
        self._unfenced: set[int] = set()

    def start_all(
        self,
        members: dict[int, list[Endpoint]],
        racks: Mapping[int, str] | None = None,
        stores: Mapping[int, Store] | None = None,
    ) -> None:
        """Create the brokers of this process, by node id, and register them.

        ``racks`` gives the rack of each; without it all have broker.rack. ``stores`` has those of brokers that do not share the
        process's. Raises KafkaError KAFKA_STORAGE_ERROR if the
        metadata log cannot be written.
        """
        cluster = self.cluster
        for node_id, endpoints in members.items():
            rack = cluster.config["broker.rack"] if racks is None else racks[node_id]
            store = None if stores is None else stores.get(node_id)
            cluster.brokers[node_id] = cluster.new_broker(node_id, endpoints, rack, store)
        registrations = [self._registration(broker) for broker in cluster.brokers.values()]
        cluster.metadata.subscribe(self._follow)
        epochs = cluster.local_controller.start_brokers(registrations, clean=cluster.logs.clean)
        for broker in cluster.brokers.values():
            self._note_epoch(broker, epochs[broker.node_id])
        if cluster.peers is not None:  # once there are turns of the loop
            cluster.runtime.timers.after(0, partial(self._begin_all, epochs))
        # Once clients are served: of an open transaction the producer may be gone, so only its timeout ends it.
        cluster.runtime.timers.after(0, self._load_coordinators)

    def start_registered(self, node_id: int, endpoints: list[Endpoint], epoch: int) -> Deferred[None]:
        """Create the one broker of this process, which controllers elsewhere have registered with this epoch; the wait is over when its
        replicas lead and follow.
        """
        cluster = self.cluster
        broker = cluster.brokers[node_id] = cluster.new_broker(node_id, endpoints, cluster.config["broker.rack"])
        cluster.metadata.subscribe(self._follow)
        begun = self.registered_again(node_id, epoch)
        self._cordon(node_id)
        broker.coordinators.load_at_start()
        return begun

    def registered_again(self, node_id: int, epoch: int) -> Deferred[None]:
        """The controllers have registered the broker with another epoch, as after its session had ended."""
        broker = self.cluster.brokers[node_id]
        self._note_epoch(broker, epoch)
        return self._begin_replication(broker, epoch)

    def start(self, node_id: int) -> Deferred[None]:
        """Start a stopped broker with a new broker epoch, no fetch sessions and a new block of producer ids; after a crash its logs are
        recovered first, in a thread.

        Fails with KafkaError KAFKA_STORAGE_ERROR if the metadata log cannot be written; the broker stays stopped.
        """
        cluster, store = self.cluster, self._stopped[node_id].store
        recovered = self._ending.pop(node_id, Deferred.completed(None)).chain(lambda _: cluster.recover(store, node_id))
        return recovered.chain(lambda _: self._register_again(node_id))

    def _register_again(self, node_id: int) -> Deferred[None]:
        cluster, former = self.cluster, self._stopped[node_id]
        unfenced = node_id in self._unfenced
        self._unfenced.discard(node_id)
        broker = cluster.new_broker(node_id, former.endpoints, former.rack, cluster.usable_store(former.store, node_id))
        broker.check_listeners_by(former.check_listeners)

        def started(epoch: int) -> None:
            del self._stopped[node_id]
            cluster.brokers[node_id] = broker
            self._note_epoch(broker, epoch)
            self._begin_replication(broker, epoch)

        def refused(error: Exception) -> NoReturn:
            broker.close()
            self._stopped[node_id] = broker  # with its store, which has taken up the log directories
            if unfenced:
                self._fence(node_id).or_log("fencing broker %d", node_id)
            raise error

        registered = cluster.controller.start_broker(self._registration(broker))
        return registered.recover(Exception, refused).map(started)

    def begin_stop(self, node_id: int) -> Deferred[None]:
        """Begin the controlled shutdown of a broker: leadership moves, and requests that wait there are answered.

        Fails with KafkaError KAFKA_STORAGE_ERROR if the metadata log cannot be written; the broker goes on then.
        """
        broker = self.cluster.brokers[node_id]
        broker.leaving = True

        def begun(done: Deferred[None]) -> None:
            if done.error is not None:
                broker.leaving = False
                raise done.error

        return self.cluster.controller.begin_shutdown(node_id).fold(begun)

    def stop(self, node_id: int) -> Deferred[None]:
        """Fence a broker, once its connections are closed, and end it; the others run on."""

        def stopped(_: None) -> None:
            broker = self._stopped[node_id] = self.cluster.brokers.pop(node_id)
            broker.close()
            if broker.store.replication is not None:
                broker.store.replication.end()
                broker.store.previous_epoch = broker.logs.broker_epoch

        return self._fence(node_id).map(stopped)

    def kill(self, node_id: int) -> Deferred[None]:
        """End a broker that has copies of its own as a crash does: nothing is closed, and clients are told nothing."""
        return self._fence(node_id).chain(lambda _: self.end_abruptly(node_id))

    def fail(self, node_id: int) -> Deferred[None]:
        """The same at once, where the broker cannot go on."""
        self.end_abruptly(node_id).or_log("ending broker %d", node_id)
        return self._fence(node_id)

    def _fence(self, node_id: int) -> Deferred[None]:
        """Fence a broker that ends, which it does even if the metadata log cannot be written: until it starts again, the controller then
        tries after each ``broker.session.timeout.ms``, as when a broker's session has expired.
        """
        self._unfenced.add(node_id)

        def fenced(done: Deferred[None]) -> None:
            if done.error is None:
                self._unfenced.discard(node_id)
            elif isinstance(done.error, KafkaError):
                log.warning("Broker %d ended and cannot be fenced yet: %s", node_id, done.error)
                self.cluster.runtime.timers.after(self.cluster.config["broker.session.timeout.ms"], again)
            else:
                raise done.error

        def again() -> None:
            if node_id in self._unfenced:
                self._fence(node_id).or_log("fencing broker %d", node_id)

        return self.cluster.controller.fence_broker(node_id).fold(fenced)

    def end_abruptly(self, node_id: int) -> Deferred[None]:
        """The same before the controller knows. It is gone when this returns, also of many partitions, who are told in slices: the wait is over
        when all are.
        """
        broker = self._stopped[node_id] = self.cluster.brokers.pop(node_id)
        broker.close()
        ended = self._ending[node_id] = as_wait(self.cluster.runtime.slices.run(broker.store.end_abruptly()))
        return ended

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """The stores have followed it before: where other log directories are cordoned now, the controller is told."""
        if any(kind == BROKER_RESOURCE for kind, _ in delta.configs):
            for node_id in list(self.cluster.brokers):
                self._cordon(node_id)

    def _cordon(self, node_id: int) -> None:
        """Tell the controller, and again later if the metadata log cannot be written; one that has stopped says it when it starts."""
        broker, cluster = self.cluster.brokers.get(node_id), self.cluster
        if broker is None:
            return

        def refused(_: KafkaError) -> None:
            cluster.runtime.timers.after(cluster.config["broker.session.timeout.ms"], partial(self._cordon, node_id))

        told = cluster.controller.cordon(node_id, _ids(broker.logs.cordoned_ids)).recover(KafkaError, refused)
        told.or_log("cordoning log directories of broker %d", node_id)

    def _note_epoch(self, broker: Broker, epoch: int) -> None:
        """The marker of a clean shutdown has the epoch; of a shared store, that of the broker whose id the process has."""
        if broker.store is not self.cluster.store or broker.node_id == self.cluster.config.node_id:
            broker.logs.broker_epoch = epoch

    def _begin_all(self, epochs: Mapping[int, int]) -> None:
        for broker in self.cluster.brokers.values():
            if broker.logs.broker_epoch == epochs[broker.node_id]:
                self._begin_replication(broker, epochs[broker.node_id])

    @staticmethod
    def _begin_replication(broker: Broker, epoch: int) -> Deferred[None]:
        store = broker.store
        if store.replication is None:
            return Deferred.completed(None)
        store.previous_epoch = -1
        begun = store.replication.begin(store.table.by_name, store.dormant, epoch)
        begun.or_log("opening replicas of %d", broker.node_id)
        return begun

    def _load_coordinators(self) -> None:
        for broker in self.cluster.brokers.values():
            broker.coordinators.load_at_start()

    def _registration(self, broker: Broker) -> BrokerRegistration:
        return BrokerRegistration(
            broker.node_id,
            broker.endpoints,
            _ids(broker.logs.directory_ids),
            broker.rack,
            broker.store.previous_epoch,
            _ids(broker.logs.cordoned_ids),
        )


def _ids(directory_ids: Iterable[str]) -> list[bytes]:
    return [uuid_from_str(directory_id) for directory_id in directory_ids]
