"""What a group needs from outside: time, settings, topics, and randomness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from pykbroker.metadata.image import GROUP_RESOURCE, MetadataImage

if TYPE_CHECKING:
    from pykbroker.coordination.groups.settings import GroupSettings
    from pykbroker.runtime.clock import Clock
    from pykbroker.security.authorizer import Authorizer


@dataclass(slots=True)
class Surroundings:
    """Shared by all groups of a shard."""

    clock: Clock
    settings: GroupSettings
    image: MetadataImage = field(default_factory=MetadataImage)
    random: Random = field(default_factory=Random)
    #: Offset of the metadata in which topics were last created: patterns resolved before it are resolved again.
    topics_created_at: int = -1
    #: Says which topics a pattern may match; None without an authorizer.
    authorizer: Authorizer | None = None

    def group_configs(self, group_id: str) -> Mapping[str, str]:
        """The settings of a group, as text."""
        return self.image.config(GROUP_RESOURCE, group_id)

    def topic_id(self, name: str) -> bytes | None:
        """The id of the topic with this name."""
        topic = self.image.topic(name)
        return None if topic is None else topic.id

    def topic_ids(self, names: Iterable[str]) -> frozenset[bytes]:
        """The ids of those topics that exist: no line for the others, since a stranger may name 100,000."""
        topics = self.image.topics
        return frozenset([topics[name].id for name in topics.keys() & names])

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id."""
        topic = self.image.topic_by_id(topic_id)
        return None if topic is None else topic.name
