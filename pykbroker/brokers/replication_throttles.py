"""The limits of one broker's replication, as the metadata have them: ``leader.`` and ``follower.replication.throttled.rate`` of the broker,
and the ``.throttled.replicas`` of topics.

As in Apache Kafka only what was altered at run time counts: for this broker, else for all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pykbroker.config.definitions.broker import DYNAMIC_ONLY
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.replication.throttling import ReplicationQuota
from pykbroker.runtime.rates import Windows

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage

_RATE: Final = ".replication.throttled.rate"
_REPLICAS: Final = ".replication.throttled.replicas"


class ReplicationThrottles:
    """See the module. ``leader`` limits what this broker sends to followers, ``follower`` what it fetches."""

    def __init__(self, node_id: int, config: BrokerConfig, image: MetadataImage, now_ms: int) -> None:
        self._node_id = node_id
        windows = Windows(
            config["replication.quota.window.num"], config["replication.quota.window.size.seconds"] * 1000
        )
        self.leader = ReplicationQuota(windows, now_ms)
        self.follower = ReplicationQuota(windows, now_ms)
        self._sides = {"leader": self.leader, "follower": self.follower}
        self._limit(image)
        for kind, name in image.configs:
            if kind == TOPIC_RESOURCE:
                self._throttle(image, name)

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Follow the metadata."""
        for kind, name in delta.configs:
            if kind == BROKER_RESOURCE:
                self._limit(image)
            elif kind == TOPIC_RESOURCE:
                self._throttle(image, name)

    def _limit(self, image: MetadataImage) -> None:
        for side, quota in self._sides.items():
            quota.limit = limit_at_run_time(image, self._node_id, side + _RATE)

    def _throttle(self, image: MetadataImage, topic: str) -> None:
        config = image.topic_config(topic)
        for side, quota in self._sides.items():
            name = side + _REPLICAS
            replicas = TOPIC_SETTINGS[name].parse(config[name]) if name in config else ()
            quota.throttle(topic, replicas or (), self._node_id)


def limit_at_run_time(image: MetadataImage, node_id: int, name: str) -> float:
    """The bytes per second that one of the settings of KIP-73 says, infinite where it was not altered."""
    altered = image.config(BROKER_RESOURCE, str(node_id)).get(name) or image.config(BROKER_RESOURCE, "").get(name)
    return math.inf if altered is None else DYNAMIC_ONLY[name].parse(altered)
