"""The settings of share groups' membership: the broker's, and the group's, which override them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.member_settings import MemberSettings

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


@dataclass(slots=True)
class ShareSettings(MemberSettings):
    """Defaults are Apache Kafka's. Times in milliseconds."""

    kind = "share"

    max_size: int = 200
    initialize_retry_ms: int = 30_000

    @classmethod
    def from_config(cls, config: BrokerConfig) -> ShareSettings:
        """Read the broker's configuration."""
        return cls.read(
            config,
            max_size=config["group.share.max.size"],
            initialize_retry_ms=config["group.share.initialize.retry.interval.ms"],
        )
