"""What one batch of metadata records changed, for those who act on changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pykbroker.metadata.image import PartitionImage, TopicImage

if TYPE_CHECKING:
    from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord


@dataclass(slots=True)
class PartitionChange:
    """One partition before and after; ``before`` is None for a new one."""

    topic: TopicImage
    before: PartitionImage | None
    after: PartitionImage

    @property
    def leader_changed(self) -> bool:
        """True when the partition is new, or has a new leader epoch."""
        return self.before is None or self.before.leader_epoch != self.after.leader_epoch

    def moves_state_of(self, topic: str) -> bool:
        """True when a partition of this topic, in which coordinators keep their state, has another leader than before."""
        return self.topic.name == topic and self.before is not None and self.leader_changed


@dataclass(slots=True)
class MetadataDelta:
    """The changes of one commit, in the order of its records. A topic that came and went in it is in both lists."""

    created_topics: list[TopicImage] = field(default_factory=list)
    deleted_topics: list[TopicImage] = field(default_factory=list)
    partitions: list[PartitionChange] = field(default_factory=list)
    brokers: set[int] = field(default_factory=set)
    #: (resource type, name), as the keys of ``MetadataImage.configs``.
    configs: set[tuple[int, str]] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    client_quotas: bool = False
    #: Access lists that came (True) and went, in order.
    acls: list[tuple[AccessControlEntryRecord, bool]] = field(default_factory=list)
    scram: bool = False
    #: Ids of delegation tokens that came or live longer or shorter now (True), and that went, in order.
    delegation_tokens: list[tuple[str, bool]] = field(default_factory=list)
