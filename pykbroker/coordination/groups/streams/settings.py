"""The settings of streams groups: the broker's, and the group's, which override them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.member_settings import Bounded, MemberSettings

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

_MAX_INT = 2**31 - 1
_TASK_OFFSETS = Bounded(60_000, 15_000, _MAX_INT)
_STANDBYS = Bounded(0, 0, 2)


@dataclass(slots=True)
class StreamsSettings(MemberSettings):
    """Defaults are Apache Kafka's. Times in milliseconds."""

    kind = "streams"

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
        return cls.read(
            config,
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
