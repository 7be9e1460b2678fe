"""A Kafka broker for tests: the real protocol, in the test's own process, ready in milliseconds.

``with Kafka() as kafka:`` runs a broker; ``kafka.bootstrap_servers`` is what clients are pointed at.
"""

from pykbroker.testing.kafka import Kafka, KafkaCluster

__all__ = ["Kafka", "KafkaCluster"]
