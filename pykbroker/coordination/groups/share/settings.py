"""The settings of share groups' membership: the broker's, and the group's, which override them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.settings import Bounded

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

_SESSION = Bounded(45_000, 45_000, 60_000)
_HEARTBEAT = Bounded(5_000, 5_000, 15_000)
_ASSIGNMENT = Bounded(1_000, 0, 15_000)


@dataclass(slots=True)
class ShareSettings:
    """Defaults are Apache Kafka's. Times in milliseconds."""

    session_timeout_ms: Bounded = _SESSION
    heartbeat_interval_ms: Bounded = _HEARTBEAT
    assignment_interval_ms: Bounded = _ASSIGNMENT
    max_size: int = 200
    initialize_retry_ms: int = 30_000

    @classmethod
    def from_config(cls, config: BrokerConfig) -> ShareSettings:
        """Read the broker's configuration."""
        return cls(
            session_timeout_ms=Bounded.from_config(config, "share", "session.timeout.ms"),
            heartbeat_interval_ms=Bounded.from_config(config, "share", "heartbeat.interval.ms"),
            assignment_interval_ms=Bounded.from_config(config, "share", "assignment.interval.ms"),
            max_size=config["group.share.max.size"],
            initialize_retry_ms=config["group.share.initialize.retry.interval.ms"],
        )

    def session_of(self, group: Mapping[str, str]) -> int:
        """The session timeout of a group with these settings."""
        return self.session_timeout_ms.of(group.get("share.session.timeout.ms"))

    def heartbeat_of(self, group: Mapping[str, str]) -> int:
        """The heartbeat interval of its members."""
        return self.heartbeat_interval_ms.of(group.get("share.heartbeat.interval.ms"))

    def assignment_interval_of(self, group: Mapping[str, str]) -> int:
        """The least time between two target assignments (KIP-1263)."""
        return self.assignment_interval_ms.of(group.get("share.assignment.interval.ms"))
