"""The settings of the consumer protocol: the broker's, and the group's, which override them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.member_settings import MemberSettings

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

#: Kafka's assignors may also be named by class.
_BY_CLASS = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


@dataclass(slots=True)
class ConsumerSettings(MemberSettings):
    """Defaults are Apache Kafka's."""

    kind = "consumer"

    regex_refresh_interval_ms: int = 600_000
    max_size: int = 2**31 - 1
    #: Names of the assignors that members may request; the first is the default.
    assignors: tuple[str, ...] = ("uniform", "range")
    #: group.consumer.migration.policy.
    upgrades: bool = True
    downgrades: bool = True

    @classmethod
    def from_config(cls, config: BrokerConfig) -> ConsumerSettings:
        """Read the broker's configuration."""
        policy = config["group.consumer.migration.policy"].lower()
        return cls.read(
            config,
            regex_refresh_interval_ms=config["group.consumer.regex.refresh.interval.ms"],
            max_size=config["group.consumer.max.size"],
            assignors=tuple(_BY_CLASS.get(name, name) for name in config["group.consumer.assignors"]),
            upgrades=policy in ("upgrade", "bidirectional"),
            downgrades=policy in ("downgrade", "bidirectional"),
        )
