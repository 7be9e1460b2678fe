"""The settings of groups whose members heartbeat with an epoch, of whatever kind: the broker's, and the group's, which override
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


class Bounded(NamedTuple):
    """A duration in milliseconds that a group may set for itself within the broker's bounds."""

    default: int
    least: int
    most: int

    def of(self, own: str | None) -> int:
        """The value of a group, clamped to the bounds, which may have changed since it was set."""
        return self.default if own is None else min(max(int(own), self.least), self.most)

    @classmethod
    def from_config(cls, config: BrokerConfig, kind: str, subject: str) -> Self:
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
class MemberSettings:
    """Defaults are Apache Kafka's. Times in milliseconds; ``group`` has the settings of a group, as text."""

    #: The word for the kind of groups in the names of settings.
    kind: ClassVar[str]

    session_timeout_ms: Bounded = _SESSION
    heartbeat_interval_ms: Bounded = _HEARTBEAT
    assignment_interval_ms: Bounded = _ASSIGNMENT

    @classmethod
    def read(cls, config: BrokerConfig, **others: Any) -> Self:
        """Read the broker's configuration; ``others`` are the settings of the kind alone."""
        subjects = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
        return cls(*(Bounded.from_config(config, cls.kind, subject) for subject in subjects), **others)

    def session_of(self, group: Mapping[str, str]) -> int:
        """The session timeout of a group's members."""
        return self.session_timeout_ms.of(group.get(f"{self.kind}.session.timeout.ms"))

    def heartbeat_of(self, group: Mapping[str, str]) -> int:
        """Their heartbeat interval."""
        return self.heartbeat_interval_ms.of(group.get(f"{self.kind}.heartbeat.interval.ms"))

    def timing_of(self, group: Mapping[str, str]) -> tuple[int, int]:
        """``session_of`` and ``heartbeat_of``: each heartbeat asks for both, and most groups have no settings."""
        if group:
            return self.session_of(group), self.heartbeat_of(group)
        return self.session_timeout_ms.default, self.heartbeat_interval_ms.default

    def assignment_interval_of(self, group: Mapping[str, str]) -> int:
        """The least time between two target assignments (KIP-1263)."""
        return self.assignment_interval_ms.of(group.get(f"{self.kind}.assignment.interval.ms"))
