"""The broker settings of the share coordinator. Times in milliseconds; defaults are Apache Kafka's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


@dataclass(slots=True)
class ShareCoordinatorSettings:
    """See the module."""

    partitions: int = 50
    updates_per_snapshot: int = 500
    prune_interval_ms: int = 300_000
    cold_snapshot_interval_ms: int = 300_000

    @classmethod
    def from_config(cls, config: BrokerConfig) -> ShareCoordinatorSettings:
        """Read the settings of this room out of the broker's configuration."""
        return cls(
            partitions=config["share.coordinator.state.topic.num.partitions"],
            updates_per_snapshot=config["share.coordinator.snapshot.update.records.per.snapshot"],
            prune_interval_ms=config["share.coordinator.state.topic.prune.interval.ms"],
            cold_snapshot_interval_ms=config["share.coordinator.cold.partition.snapshot.interval.ms"],
        )
