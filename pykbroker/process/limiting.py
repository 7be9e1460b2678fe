"""Installs quotas and connection limits when the first one of each kind is set."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import BROKER_RESOURCE

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.network.server import Server
    from pykbroker.process.connection_limits import ConnectionLimiting
    from pykbroker.process.life import Life
    from pykbroker.quotas.throttling import Throttling

#: Suffixes of settings, since listeners may have their own.
_ON_CONNECTIONS: Final = (
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "max.connection.creation.rate",
)


class Limiting:
    """For one process; modules are imported on first use, since start-up counts."""

    def __init__(self, server: Server, ids: list[int]) -> None:
        self._server = server
        self._ids = ids
        self.throttling: Throttling | None = None
        self.connections: ConnectionLimiting | None = None

    def follow(self, life: Life) -> None:
        """Enforce the quotas and limits of this cluster, in place of any other, by its metadata and settings."""
        life.at_end(self._unthrottle)
        cluster = life.cluster
        image = cluster.metadata.image
        self._throttle(cluster, image, MetadataDelta())
        if self.connections is not None or _are_connections_limited(cluster, image):
            self._limit_connections(cluster)
        life.at_end(cluster.metadata.subscribe(partial(self._changed, cluster)))

    def _unthrottle(self) -> None:
        if self.throttling is not None:
            self.throttling.stop()
            self.throttling = None

    def _changed(self, cluster: Cluster, image: MetadataImage, delta: MetadataDelta) -> None:
        self._throttle(cluster, image, delta)
        if self.connections is not None:
            self.connections.changed(image, delta)
        elif any(kind == "ip" for entity in delta.client_quotas for kind, _ in entity) or (
            delta.configs and _are_limited_by_settings(cluster, image)
        ):
            self._limit_connections(cluster)

    def _throttle(self, cluster: Cluster, image: MetadataImage, delta: MetadataDelta) -> None:
        if self.throttling is not None:
            self.throttling.changed(image, delta)
        elif image.client_quotas:
            from pykbroker.quotas.throttling import Throttling

            self.throttling = Throttling(cluster, self._server.dispatcher)

    def _limit_connections(self, cluster: Cluster) -> None:
        from pykbroker.process.connection_limits import ConnectionLimiting

        self.connections = ConnectionLimiting(cluster, self._server, self._ids)


def _are_connections_limited(cluster: Cluster, image: MetadataImage) -> bool:
    if _are_limited_by_settings(cluster, image):
        return True
    return any(kind == "ip" for entity in image.client_quotas for kind, _ in entity)


def _are_limited_by_settings(cluster: Cluster, image: MetadataImage) -> bool:
    nodes = ("", *map(str, image.brokers))
    altered = (image.config(BROKER_RESOURCE, name) for name in nodes)
    return any(name.endswith(_ON_CONNECTIONS) for settings in (cluster.config.explicit, *altered) for name in settings)
