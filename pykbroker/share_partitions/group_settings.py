"""The settings of share groups that concern their records: the broker's, and the group's, which override them within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.features import SHARE_VERSION
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.share_partitions.states import Limits

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.source import MetadataSource

#: The level of share.version with dead letters (KIP-1191).
_DEAD_LETTERS_SINCE = 2
READ_COMMITTED = "read_committed"


class ShareGroupSettings:
    """The settings of one group, which follow the metadata."""

    __slots__ = ("_config", "_group_id", "_limits", "_limits_at", "_metadata")

    def __init__(self, metadata: MetadataSource, config: BrokerConfig, group_id: str) -> None:
        self._metadata = metadata
        self._config = config
        self._group_id = group_id
        self._limits = Limits()
        #: The offset of the metadata of which they are: the image is always the same object.
        self._limits_at: int | None = None

    def limits(self) -> Limits:
        """The present limits."""
        image = self._metadata.image
        if image.offset != self._limits_at:
            self._limits_at = image.offset
            self._limits = Limits(
                lock_duration_ms=self._bounded("record.lock.duration.ms"),
                max_deliveries=self._bounded("delivery.count.limit"),
                max_in_flight=self._bounded("partition.max.record.locks"),
                dead_letters=bool(self.dead_letter_topic)
                and image.features.get(SHARE_VERSION, 0) >= _DEAD_LETTERS_SINCE,
            )
        return self._limits

    @property
    def is_committed(self) -> bool:
        """Whether members read committed records only."""
        return self._own("share.isolation.level") == READ_COMMITTED

    @property
    def offset_reset(self) -> str:
        """Where the group begins: ``latest``, ``earliest``, or ``by_duration:`` with a duration of ISO 8601."""
        return self._own("share.auto.offset.reset") or "latest"

    @property
    def may_renew(self) -> bool:
        """Whether members may renew their locks."""
        return self._is_true("share.renew.acknowledge.enable", default="true")

    @property
    def dead_letter_topic(self) -> str:
        """The topic for what the group gives up; empty if it has none."""
        return self._own("errors.deadletterqueue.topic.name") or ""

    @property
    def copies_dead_letters(self) -> bool:
        """Whether a dead letter has the key and the value of its record."""
        return self._is_true("errors.deadletterqueue.copy.record.enable", default="false")

    def _is_true(self, name: str, *, default: str) -> bool:
        return (self._own(name) or default).strip().lower() == "true"

    def _own(self, name: str) -> str | None:
        return self._metadata.image.config(GROUP_RESOURCE, self._group_id).get(name)

    def _bounded(self, subject: str) -> int:
        own = self._own(f"share.{subject}")
        if own is None:
            default: int = self._config[f"group.share.{subject}"]
            return default
        least: int = self._config[f"group.share.min.{subject}"]
        most: int = self._config[f"group.share.max.{subject}"]
        return min(max(int(own), least), most)
