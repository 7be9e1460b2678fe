"""The changes of one commit, for subscribers."""

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
        """True if the partition is new or has a new leader epoch."""
        return self.before is None or self.before.leader_epoch != self.after.leader_epoch

    def moves_state_of(self, topic: str) -> bool:
        """True if a partition of this topic, a coordinator's, has another leader or leader epoch than before."""
        return self.topic.name == topic and self.before is not None and self.leader_changed


@dataclass(slots=True)
class MetadataDelta:
    """The changes of one commit, in the order of its records. A topic that was created and deleted in it is in both lists."""

    created_topics: list[TopicImage] = field(default_factory=list)
    deleted_topics: list[TopicImage] = field(default_factory=list)
    partitions: list[PartitionChange] = field(default_factory=list)
    brokers: set[int] = field(default_factory=set)
    #: By topic name the same, once it was asked for.
    _by_topic: dict[str, list[PartitionChange]] | None = None
    #: (resource type, name), as the keys of ``MetadataImage.configs``.
    configs: set[tuple[int, str]] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    #: Entities whose quotas were altered or removed, as the keys of ``MetadataImage.client_quotas``.
    client_quotas: set[tuple[tuple[str, str | None], ...]] = field(default_factory=set)
    #: Access lists that were added (True) and removed, in order.
    acls: list[tuple[AccessControlEntryRecord, bool]] = field(default_factory=list)
    scram: bool = False
    #: Ids of delegation tokens that were created or changed (True), and removed, in order.
    delegation_tokens: list[tuple[str, bool]] = field(default_factory=list)

    @property
    def by_topic(self) -> dict[str, list[PartitionChange]]:
        """The changes of partitions by the name of their topic, in order. Looked up by subscribers, once all are noted."""
        found = self._by_topic
        if found is None:
            found = self._by_topic = {}
            for change in self.partitions:
                found.setdefault(change.topic.name, []).append(change)
        return found
