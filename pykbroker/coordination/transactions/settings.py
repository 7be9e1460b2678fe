"""The broker settings of transaction coordination. Times in milliseconds; defaults are Apache Kafka's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


@dataclass(slots=True)
class TransactionSettings:
    """See the module."""

    partitions: int = 50
    max_timeout_ms: int = 900_000
    abort_interval_ms: int = 10_000
    expiration_ms: int = 604_800_000
    expiration_interval_ms: int = 3_600_000
    #: The first delay before a failed marker is retried; a constant in Kafka, too.
    marker_retry_ms: int = 100

    @classmethod
    def from_config(cls, config: BrokerConfig) -> TransactionSettings:
        """Read the settings of this room out of the broker's configuration."""
        return cls(
            partitions=config["transaction.state.log.num.partitions"],
            max_timeout_ms=config["transaction.max.timeout.ms"],
            abort_interval_ms=config["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
            expiration_ms=config["transactional.id.expiration.ms"],
            expiration_interval_ms=config["transaction.remove.expired.transaction.cleanup.interval.ms"],
        )
