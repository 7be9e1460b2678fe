"""The input and the output of an assignor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from struct import Struct

from pykbroker.wire.primitives import uuid_to_str

#: A topic id: 16 bytes.
Uuid = bytes
#: The partitions of one member: by topic, ascending; no topic without partitions.
Assignment = dict[Uuid, tuple[int, ...]]

_two_longs = Struct(">qq").unpack


class AssignmentFailed(ValueError):
    """No assignment can be made; the message is Kafka's, of its PartitionAssignorException."""


@dataclass(slots=True)
class MemberSpec:
    """One member: the topics it subscribes to, and its partitions in the current target assignment."""

    subscribed: frozenset[Uuid]
    assigned: dict[Uuid, frozenset[int]] = field(default_factory=dict)
    instance_id: str | None = None
    rack: str | None = None


@dataclass(slots=True)
class GroupSpec:
    """A group: its members by id, and the number of partitions of each existing topic."""

    members: dict[str, MemberSpec]
    partitions: dict[Uuid, int]

    def same_topics(self) -> bool:
        """Whether all members read the same topics: Kafka's homogeneous group."""
        return len({member.subscribed for member in self.members.values()}) <= 1

    def partition_count(self, topic: Uuid) -> int:
        """The number of partitions of a subscribed topic. Raises AssignmentFailed if it does not exist."""
        count = self.partitions.get(topic)
        if count is None:
            raise AssignmentFailed(
                f"Members are subscribed to topic {uuid_to_str(topic)} which doesn't exist in the topic metadata."
            )
        return count


def uuid_order(topic: Uuid) -> tuple[int, int]:
    """The sort key of a topic id: two signed longs, as Kafka's Uuid compares."""
    high, low = _two_longs(topic)
    return high, low


def settled(owned: Mapping[Uuid, Iterable[int]]) -> Assignment:
    """A member's partitions in the form of an assignor's output."""
    return {topic: ordered for topic, partitions in owned.items() if (ordered := tuple(sorted(partitions)))}
