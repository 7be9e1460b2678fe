"""Log lines of Kafka for which others, above all Testcontainers' modules, wait to know that a container is ready.

They are printed when clients are accepted, in the form of Kafka's log, on standard output, where its image has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def lines(node_ids: Iterable[int], when: str) -> Iterator[str]:
    """For each broker: that it is unfenced, that its process is up, and the same as it was said over ZooKeeper. ``when`` is the time as
    Kafka's log writes it.
    """
    for node_id in node_ids:
        yield (
            f"[{when}] INFO [BrokerLifecycleManager id={node_id}] The broker has been unfenced. "
            "Transitioning from RECOVERY to RUNNING. (kafka.server.BrokerLifecycleManager)"
        )
        yield f"[{when}] INFO [KafkaRaftServer nodeId={node_id}] Kafka Server started (kafka.server.KafkaRaftServer)"
        yield f"[{when}] INFO [KafkaServer id={node_id}] started (kafka.server.KafkaServer)"
