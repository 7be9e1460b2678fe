"""The settings of the consumer protocol: the broker's, and the group's, which override them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

#: Kafka's assignors may also be named by class.
_BY_CLASS = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


class Bounded(NamedTuple):
    """A duration in milliseconds that a group may set for itself within the broker's bounds."""

    default: int
    least: int
    most: int

    def of(self, own: str | None) -> int:
        """The value of a group, clamped to the bounds, which may have changed since it was set."""
        return self.default if own is None else min(max(int(own), self.least), self.most)

    @classmethod
    def from_config(cls, config: BrokerConfig, kind: str, subject: str) -> Bounded:
        """The broker's setting of a kind of groups, and those that bound it."""
        return cls(
            config[f"group.{kind}.{subject}"],
            config[f"group.{kind}.min.{subject}"],
            config[f"group.{kind}.max.{subject}"],
        )


_SESSION = Bounded(45_000, 45_000, 60_000)
_HEARTBEAT = Bounded(5_000, 5_000, 15_000)
_ASSIGNMENT = Bounded(1_000, 0, 15_000)


@dataclass(slots=True)
class ConsumerSettings:
    """Defaults are Apache Kafka's."""

    session_timeout_ms: Bounded = _SESSION
    heartbeat_interval_ms: Bounded = _HEARTBEAT
    assignment_interval_ms: Bounded = _ASSIGNMENT
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
        return cls(
            session_timeout_ms=Bounded.from_config(config, "consumer", "session.timeout.ms"),
            heartbeat_interval_ms=Bounded.from_config(config, "consumer", "heartbeat.interval.ms"),
            assignment_interval_ms=Bounded.from_config(config, "consumer", "assignment.interval.ms"),
            regex_refresh_interval_ms=config["group.consumer.regex.refresh.interval.ms"],
            max_size=config["group.consumer.max.size"],
            assignors=tuple(_BY_CLASS.get(name, name) for name in config["group.consumer.assignors"]),
            upgrades=policy in ("upgrade", "bidirectional"),
            downgrades=policy in ("downgrade", "bidirectional"),
        )

    def session_of(self, group: Mapping[str, str]) -> int:
        """The session timeout of a group with these settings, in milliseconds."""
        return self.session_timeout_ms.of(group.get("consumer.session.timeout.ms"))

    def heartbeat_of(self, group: Mapping[str, str]) -> int:
        """The heartbeat interval of its members, in milliseconds."""
        return self.heartbeat_interval_ms.of(group.get("consumer.heartbeat.interval.ms"))

    def timing_of(self, group: Mapping[str, str]) -> tuple[int, int]:
        """``session_of`` and ``heartbeat_of``: each heartbeat asks for both, and most groups have no settings."""
        if group:
            return self.session_of(group), self.heartbeat_of(group)
        return self.session_timeout_ms.default, self.heartbeat_interval_ms.default

    def assignment_interval_of(self, group: Mapping[str, str]) -> int:
        """The least time between two target assignments, in milliseconds (KIP-1263)."""
        return self.assignment_interval_ms.of(group.get("consumer.assignment.interval.ms"))
