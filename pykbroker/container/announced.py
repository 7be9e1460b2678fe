"""Kafka's log lines for which others, above all Testcontainers' modules, wait to know that a container is ready.

They are printed when clients are accepted, in the format of Kafka's log, on standard output, as by its image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def lines(node_ids: Iterable[int], when: str) -> Iterator[str]:
    """Return the lines for each broker: unfenced, started, and started as logged over ZooKeeper.

    ``when`` is the time as Kafka's log writes it.
    """
    for node_id in node_ids:
        yield (
            f"[{when}] INFO [BrokerLifecycleManager id={node_id}] The broker has been unfenced. "
            "Transitioning from RECOVERY to RUNNING. (kafka.server.BrokerLifecycleManager)"
        )
        yield f"[{when}] INFO [KafkaRaftServer nodeId={node_id}] Kafka Server started (kafka.server.KafkaRaftServer)"
        yield f"[{when}] INFO [KafkaServer id={node_id}] started (kafka.server.KafkaServer)"
