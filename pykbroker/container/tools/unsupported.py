"""Commands of Kafka that this image has not, and what to use instead."""

from __future__ import annotations

from typing import Final

_ADDITIONAL: Final = "run Apache Kafka's own, from its image, against this broker"
_CONNECT: Final = (
    "Kafka Connect is a program beside the broker: docs/compose/connect.yaml runs it from Apache Kafka's image"
)
_NO_ZOOKEEPER: Final = "there is no ZooKeeper: the broker keeps its metadata itself"

INSTEAD: Final = {
    "connect-distributed": _CONNECT,
    "connect-mirror-maker": _ADDITIONAL,
    "connect-plugin-path": _CONNECT,
    "connect-standalone": _CONNECT,
    "kafka-console-share-consumer": _ADDITIONAL,
    "kafka-consumer-offset-checker": "kafka-consumer-groups --describe --group NAME",
    "kafka-e2e-latency": "`pykbroker perf produce` tells latencies; or run Apache Kafka's own against this broker",
    "kafka-jmx": "there is no JMX: metrics are at the HTTP address, /metrics",
    "kafka-metadata-shell": "`pykbroker dump`, or kafka-dump-log --cluster-metadata-decoder",
    "kafka-mirror-maker": _ADDITIONAL,
    "kafka-preferred-replica-election": "kafka-leader-election --election-type preferred",
    "kafka-replica-verification": "`pykbroker dump --verify` checks the folder of each broker",
    "kafka-share-consumer-perf-test": _ADDITIONAL,
    "kafka-simple-consumer-shell": "kafka-console-consumer --partition N --offset N",
    "kafka-streams-application-reset": _ADDITIONAL,
    "kafka-verifiable-share-consumer": _ADDITIONAL,
    "trogdor": _ADDITIONAL,
    "zookeeper-security-migration": _NO_ZOOKEEPER,
    "zookeeper-server-stop": _NO_ZOOKEEPER,
    "zookeeper-shell": _NO_ZOOKEEPER,
}
