"""The broker settings of group coordination."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


class KindSettings(Protocol):
    """The settings of one kind of groups; without arguments their defaults."""

    def __init__(self) -> None: ...

    @classmethod
    def from_config(cls, config: BrokerConfig, /) -> Self:
        """Read them out of the broker's configuration."""
        ...


K = TypeVar("K", bound=KindSettings)


@dataclass(slots=True)
class GroupSettings:
    """Defaults are Apache Kafka's, except for those that the config room changes for one machine."""

    offsets_partitions: int = 50
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    offsets_retention_check_interval_ms: int = 600_000
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    max_size: int = 2**31 - 1
    #: The session timeout of a new member that waits in JoinGroup and cannot heartbeat yet (a constant in Kafka, too).
    new_member_join_timeout_ms: int = 300_000
    #: Those of kinds of groups that have some of their own, by their class, read when they are first asked for.
    of_kinds: dict[type, Any] = field(default_factory=dict)
    #: Where they are read; None for their defaults.
    config: BrokerConfig | None = None

    def of(self, kind: type[K]) -> K:
        """The settings of one kind, by their class."""
        found: K | None = self.of_kinds.get(kind)
        if found is None:
            found = self.of_kinds[kind] = kind() if self.config is None else kind.from_config(self.config)
        return found

    @classmethod
    def from_config(cls, config: BrokerConfig) -> GroupSettings:
        """Read the settings of this room out of the broker's configuration."""
        return cls(
            offsets_partitions=config["offsets.topic.num.partitions"],
            offset_metadata_max_bytes=config["offset.metadata.max.bytes"],
            offsets_retention_ms=config["offsets.retention.minutes"] * 60_000,
            offsets_retention_check_interval_ms=config["offsets.retention.check.interval.ms"],
            min_session_timeout_ms=config["group.min.session.timeout.ms"],
            max_session_timeout_ms=config["group.max.session.timeout.ms"],
            initial_rebalance_delay_ms=config["group.initial.rebalance.delay.ms"],
            max_size=config["group.max.size"],
            config=config,
        )

    def refresh(self, config: BrokerConfig) -> None:
        """Apply dynamic settings."""
        self.config = config
        self.of_kinds.clear()
