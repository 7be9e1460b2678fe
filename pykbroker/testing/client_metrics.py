"""Metrics of clients (KIP-714) in tests: which are asked for, and what clients have sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.brokers.broker import WrongBroker
from pykbroker.brokers.resources import alter_resources
from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.metadata.image import CLIENT_METRICS_RESOURCE

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.errors import KafkaError


@dataclass(frozen=True, slots=True)
class ClientMetric:
    """The newest value of a metric that a client has sent; ``name`` is the client's, as ``org.apache.kafka.producer.record.send.total``.
    A sum is that since the client was first asked.
    """

    client_id: str
    client_instance_id: str
    name: str
    labels: Mapping[str, str]
    value: float


def subscribe(
    cluster: Cluster, name: str, metrics: tuple[str, ...], interval_ms: int, match: Mapping[str, str]
) -> Deferred[None]:
    """Make or replace a subscription. Raises WrongBroker if no broker runs; fails with KafkaError INVALID_REQUEST or INVALID_CONFIG."""
    if not cluster.brokers:
        raise WrongBroker("no broker runs: start one before")
    settings = {
        "metrics": ",".join(metrics),
        "interval.ms": str(interval_ms),
        "match": ",".join(f"{key}={pattern}" for key, pattern in match.items()),
    }
    changes = [Change(each, Operation.SET, value) for each, value in settings.items()]
    wanted = [Alteration(CLIENT_METRICS_RESOURCE, name, changes)]
    broker = cluster.brokers[min(cluster.brokers)]
    return alter_resources(broker, None, wanted, loggers=False, validate_only=False).map(_check)


def _check(errors: list[KafkaError | None]) -> None:
    for error in errors:
        if error is not None:
            raise error


def received(cluster: Cluster, client_id: str | None, prefix: str) -> list[ClientMetric]:
    """What clients have sent, of one client id or of all, as far as names begin with ``prefix``."""
    return [
        ClientMetric(client.client_id, client.instance_id, name, dict(labels), value)
        for broker in cluster.brokers.values()
        if broker.started_telemetry is not None
        for client in broker.started_telemetry.received.clients()
        if client_id is None or client.client_id == client_id
        for (name, labels), (value, _) in client.series.items()
        if name.startswith(prefix)
    ]
