"""The broker settings of group coordination."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


class KindSettings(Protocol):
    """A class with the settings of one kind of groups; without arguments their defaults."""

    @classmethod
    def from_config(cls, config: BrokerConfig, /) -> Any:
        """Read them out of the broker's configuration."""
        ...


K = TypeVar("K")


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
    #: The settings of each kind of groups that has some of its own.
    of_kinds: dict[Any, Any] = field(default_factory=dict)

    def of(self, kind: type[K]) -> K:
        """The settings of one kind, by their class."""
        found: K | None = self.of_kinds.get(kind)
        return kind() if found is None else found

    @classmethod
    def from_config(cls, config: BrokerConfig, kinds: Iterable[type[KindSettings]] = ()) -> GroupSettings:
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
            of_kinds={kind: kind.from_config(config) for kind in kinds},
        )

    def refresh(self, config: BrokerConfig) -> None:
        """Apply dynamic settings."""
        self.of_kinds = {kind: kind.from_config(config) for kind in self.of_kinds}
