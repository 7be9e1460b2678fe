"""One broker of a test's cluster, and who leads: stopped, killed, paused, started again; leaders and coordinators moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.placement import partition_for
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.testing.embedded import Embedded
    from pykbroker.testing.faults import Faults, PlacedFault

_GROUPS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class TestBroker:
    """A broker by its id, running or not. Each verb raises WrongBroker where it is not in the state for it."""

    __test__ = False  # for pytest, which collects what is called so

    def __init__(self, host: Embedded, faults: Faults, node_id: int) -> None:
        self.id = node_id
        self._host = host
        self._faults = faults
        self._paused: PlacedFault | None = None

    def stop(self) -> None:
        """Kafka's controlled shutdown: what it leads moves, connections end when they have their answers."""
        self._host.begin(self._host.node.brokers.stop(self.id)).result()

    def kill(self) -> None:
        """Connections are cut at once, as when a machine fails; then it is fenced, and what it led moves."""
        self._host.begin(self._host.node.brokers.stop(self.id, abrupt=True)).result()

    def start(self) -> None:
        """On the ports it had."""
        self._host.begin(self._host.node.brokers.start(self.id)).result()

    def restart(self) -> None:
        """Stop, and start again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """It takes connections and answers nothing until ``resume``, as a process that hangs. It stays the leader of what it
        leads. Harmless when repeated.
        """
        if self._paused is None:
            self._paused = self._faults.add("*", hold=True, broker=self.id)

    def resume(self) -> None:
        """It answers what it was sent meanwhile, in its order."""
        paused, self._paused = self._paused, None
        if paused is not None:
            paused.remove()


def move_leader(cluster: Cluster, topic: str, partition: int, to: int) -> Deferred[None]:
    """A new leader epoch with another leader. Fails with ValueError where it cannot lead."""

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
    """The same for the partition that holds a group's, or a transactional id's, state. Raises ValueError, too."""
    if (group is None) == (transactional_id is None):
        raise ValueError("say whose coordinator is to move: write group=..., or transactional_id=...")
    topic, key = (_GROUPS, group) if group is not None else (_TRANSACTIONS, transactional_id)
    image = cluster.metadata.image.topic(topic)
    if image is None:
        raise ValueError(f"{key} has no coordinator yet: no client has asked for one")
    return move_leader(cluster, topic, partition_for(str(key), len(image.partitions)), to)
