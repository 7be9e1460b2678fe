"""Committed offsets by group, topic and partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pykbroker.wire.internal.offset_commit import OffsetCommitValue
from pykbroker.wire.primitives import ZERO_UUID


@dataclass(slots=True)
class CommittedOffset:
    """One committed offset, as the log holds it."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    #: The expiry time of a commit that set one (OffsetCommit v2 to v4); -1 if the broker's retention applies.
    expire_timestamp_ms: int = -1
    #: The topic id of the commit, if the client sent one (OffsetCommit v10); else ZERO_UUID.
    topic_id: bytes = ZERO_UUID
    #: Its position among all commits of its shard, which orders it against offsets of transactions that end later.
    order: int = 0

    @classmethod
    def from_record(cls, value: OffsetCommitValue) -> CommittedOffset:
        """The committed offset in a record."""
        return cls(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
        )

    def is_for(self, topic_id: bytes) -> bool:
        """False if it was committed for another topic of the same name; an unknown id on either side matches."""
        return self.topic_id in (topic_id, ZERO_UUID) or topic_id == ZERO_UUID

    def expired(self, now_ms: int, unused_since_ms: int, retention_ms: int) -> bool:
        """Whether it has expired: at the time that its commit set, else ``retention_ms`` after its last use."""
        if self.expire_timestamp_ms >= 0:
            return now_ms >= self.expire_timestamp_ms
        return now_ms - unused_since_ms >= retention_ms


TopicOffsets = dict[str, dict[int, CommittedOffset]]

#: What is committed at once of a topic: its name, its id, and index, offset, leader epoch and metadata of each partition.
CommittedInTopic = tuple[str, bytes, list[tuple[int, int, int, str]]]


class Offsets:
    """All committed offsets of one shard. Empty groups and topics are not kept."""

    __slots__ = ("_groups", "_topics")

    def __init__(self) -> None:
        self._groups: dict[str, TopicOffsets] = {}
        #: Topic to the groups with offsets of it.
        self._topics: dict[str, dict[str, None]] = {}

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """Set a committed offset."""
        self.of_topic(group_id, topic)[partition] = committed

    def of_topic(self, group_id: str, topic: str) -> dict[int, CommittedOffset]:
        """The offsets of a group by partition, one of which is to be set."""
        topics = self._groups.get(group_id)
        if topics is None:
            topics = self._groups[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
            self._topics.setdefault(topic, {})[group_id] = None
        return partitions

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._groups.get(group_id)
        partitions = topics.get(topic) if topics is not None else None
        if topics is None or partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
            if not topics:
                del self._groups[group_id]
            groups = self._topics[topic]
            del groups[group_id]
            if not groups:
                del self._topics[topic]

    def remove_group(self, group_id: str) -> None:
        """Remove all offsets of a group."""
        for topic in self._groups.pop(group_id, ()):
            groups = self._topics[topic]
            del groups[group_id]
            if not groups:
                del self._topics[topic]

    def of_group(self, group_id: str) -> TopicOffsets:
        """Topic to partition to offset; read-only."""
        return self._groups.get(group_id, {})

    def groups(self) -> Iterator[str]:
        """The groups that have committed anything."""
        return iter(self._groups)

    def groups_of(self, topic: str) -> Iterable[str]:
        """The groups that have committed offsets of a topic; valid until the next change."""
        return self._topics.get(topic, ())

    def count(self, group_id: str) -> int:
        """The number of offsets of a group."""
        return sum(map(len, self.of_group(group_id).values()))

    def present(self, group_id: str, wanted: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Topic, partition and offset of those of these partitions that have a committed offset."""
        topics = self.of_group(group_id)
        for topic, partition in wanted:
            committed = topics.get(topic, {}).get(partition)
            if committed is not None:
                yield topic, partition, committed

    def __iter__(self) -> Iterator[tuple[str, str, int, CommittedOffset]]:
        """Group, topic, partition and offset, all of them."""
        for group_id, topics in self._groups.items():
            for topic, partitions in topics.items():
                for partition, committed in partitions.items():
                    yield group_id, topic, partition, committed
