"""One broker of a test's cluster: stop, kill, pause and start it, cut it off from others; moves of leaders and coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.placement import partition_for
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.steered.embedded import Embedded
    from pykbroker.testing.faults import Faults, PlacedFault

_GROUPS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class TestBroker:
    """A broker by its id, running or not. Each method raises WrongBroker if the broker is not in the required state."""

    __test__ = False  # for pytest, which collects classes with this name

    def __init__(self, host: Embedded, faults: Faults, node_id: int) -> None:
        self.id = node_id
        self._host = host
        self._faults = faults
        self._paused: PlacedFault | None = None

    def stop(self) -> None:
        """Kafka's controlled shutdown: leadership moves, connections close once they have their answers."""
        self._host.begin(self._host.node.brokers.stop(self.id)).result()

    def kill(self) -> None:
        """Cut connections at once, as when a machine fails; then the broker is fenced and leadership moves."""
        self._host.begin(self._host.node.brokers.stop(self.id, abrupt=True)).result()

    def start(self) -> None:
        """Start the broker on its ports."""
        self._host.begin(self._host.node.brokers.start(self.id)).result()

    def restart(self) -> None:
        """Stop, and start again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Accept connections and answer nothing until ``resume``, as a process that hangs. Leadership stays. Harmless when
        repeated.
        """
        if self._paused is None or self._paused.removed:
            self._paused = self._faults.add("*", hold=True, broker=self.id)

    def resume(self) -> None:
        """Answer the requests that came meanwhile, in order."""
        paused, self._paused = self._paused, None
        if paused is not None:
            paused.remove()

    def partition_from(self, *others: int) -> None:
        """Cut it off from other brokers, or from all, until ``heal``: replicas are not copied between them. Clients and the controller reach
        it. Raises ValueError for a broker that is not one of the others.
        """
        self._host.call(self._cut, others)

    def _cut(self, others: tuple[int, ...]) -> None:
        there = self._host.node.addresses().keys() - {self.id}
        unknown = sorted(set(others) - there)
        if unknown or not there:
            names = ", ".join(map(str, sorted(there))) or "none"
            raise ValueError(
                f"broker {self.id} cannot be cut off from {unknown[0] if unknown else 'others'}; the others are: {names}"
            )
        if (peers := self._host.node.cluster.peers) is not None:
            peers.cut_off(self.id, others or there)

    def heal(self) -> None:
        """End what ``partition_from`` has done. Harmless when repeated."""
        self._host.call(self._rejoin)

    def _rejoin(self) -> None:
        if (peers := self._host.node.cluster.peers) is not None:
            peers.rejoin(self.id)


def move_leader(cluster: Cluster, topic: str, partition: int, to: int) -> Deferred[None]:
    """Make another broker the leader, in a new leader epoch. Fails with ValueError if it cannot lead."""

    def refused(error: KafkaError) -> None:
        image = cluster.metadata.image.topic(topic)
        found = None if image is None else image.partitions.get(partition)
        if found is None:
            raise ValueError(f"there is no partition {topic}-{partition}; create the topic before") from error
        if to not in found.isr:
            raise ValueError(
                f"broker {to} has no replica of {topic}-{partition} that is in sync; these have: {sorted(found.isr)}"
            ) from error
        raise error

    return cluster.controller.move_leader(topic, partition, to).recover(KafkaError, refused)


def move_coordinator(cluster: Cluster, to: int, *, group: str | None, transactional_id: str | None) -> Deferred[None]:
    """``move_leader`` for the coordinator's partition of a group or a transactional id. Raises ValueError without one."""
    if (group is None) == (transactional_id is None):
        raise ValueError("whose coordinator is to move? write group=..., or transactional_id=...")
    topic, key = (_GROUPS, group) if group is not None else (_TRANSACTIONS, transactional_id)
    image = cluster.metadata.image.topic(topic)
    if image is None:
        raise ValueError(f"{key} has no coordinator yet: no client has asked for one")
    return move_leader(cluster, topic, partition_for(str(key), len(image.partitions)), to)
