"""The settings of streams groups: the broker's, and the group's, which override them."""

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
_MAX_INT = 2**31 - 1
_TASK_OFFSETS = Bounded(60_000, 15_000, _MAX_INT)
_STANDBYS = Bounded(0, 0, 2)


@dataclass(slots=True)
class StreamsSettings:
    """Defaults are Apache Kafka's. Times in milliseconds."""

    session_timeout_ms: Bounded = _SESSION
    heartbeat_interval_ms: Bounded = _HEARTBEAT
    assignment_interval_ms: Bounded = _ASSIGNMENT
    task_offset_interval_ms: Bounded = _TASK_OFFSETS
    standby_replicas: Bounded = _STANDBYS
    initial_rebalance_delay_ms: int = 3_000
    acceptable_recovery_lag: int = 10_000
    rack_aware_tags: tuple[str, ...] = ()
    max_size: int = _MAX_INT
    #: The name that descriptions show.
    assignor: str = "sticky"

    @classmethod
    def from_config(cls, config: BrokerConfig) -> StreamsSettings:
        """Read the broker's configuration."""
        return cls(
            session_timeout_ms=Bounded.from_config(config, "streams", "session.timeout.ms"),
            heartbeat_interval_ms=Bounded.from_config(config, "streams", "heartbeat.interval.ms"),
            assignment_interval_ms=Bounded.from_config(config, "streams", "assignment.interval.ms"),
            task_offset_interval_ms=Bounded(
                config["group.streams.task.offset.interval.ms"],
                config["group.streams.min.task.offset.interval.ms"],
                _MAX_INT,
            ),
            standby_replicas=Bounded(
                config["group.streams.num.standby.replicas"], 0, config["group.streams.max.standby.replicas"]
            ),
            initial_rebalance_delay_ms=config["group.streams.initial.rebalance.delay.ms"],
            acceptable_recovery_lag=config["group.streams.acceptable.recovery.lag"],
            rack_aware_tags=tuple(config["group.streams.rack.aware.assignment.tags"]),
            max_size=config["group.streams.max.size"],
        )

    def session_of(self, group: Mapping[str, str]) -> int:
        """The session timeout of a group with these settings."""
        return self.session_timeout_ms.of(group.get("streams.session.timeout.ms"))

    def heartbeat_of(self, group: Mapping[str, str]) -> int:
        """The heartbeat interval of its members."""
        return self.heartbeat_interval_ms.of(group.get("streams.heartbeat.interval.ms"))

    def assignment_interval_of(self, group: Mapping[str, str]) -> int:
        """The least time between two target assignments (KIP-1263)."""
        return self.assignment_interval_ms.of(group.get("streams.assignment.interval.ms"))

    def task_offset_interval_of(self, group: Mapping[str, str]) -> int:
        """How often its members report the offsets of their tasks."""
        return self.task_offset_interval_ms.of(group.get("streams.task.offset.interval.ms"))

    def initial_delay_of(self, group: Mapping[str, str]) -> int:
        """How long the first assignment of an empty group waits for further members."""
        return int(group.get("streams.initial.rebalance.delay.ms", self.initial_rebalance_delay_ms))

    def recovery_lag_of(self, group: Mapping[str, str]) -> int:
        """The lag, in offsets, up to which a task counts as caught up."""
        return int(group.get("streams.acceptable.recovery.lag", self.acceptable_recovery_lag))

    def assignment_configs_of(self, group: Mapping[str, str]) -> dict[str, str]:
        """What the assignor is configured with, as the records have it; a change of it is a reason to assign anew."""
        configs = {"num.standby.replicas": str(self.standby_replicas.of(group.get("streams.num.standby.replicas")))}
        own = group.get("streams.rack.aware.assignment.tags")
        tags = self.rack_aware_tags if own is None else _listed(own)
        if tags:
            configs["rack.aware.assignment.tags"] = ",".join(tags)
        return configs


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",")) if text.strip() else ()
