"""The committed offsets of a shard, those of open transactions, and those about to be removed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.offsets import CommittedInTopic, CommittedOffset, Offsets, TopicOffsets
from pykbroker.coordination.groups.pending import PendingOffsets

if TYPE_CHECKING:
    from pykbroker.coordination.groups.forgetting import Gone
    from pykbroker.coordination.outcome import Part
    from pykbroker.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue


class Committed:
    """See the module. ``replay``, ``put``, ``remove_group`` and ``end_transaction`` alone change it."""

    __slots__ = ("_hidden", "_hidden_of", "count", "offsets", "pending")

    def __init__(self) -> None:
        self.offsets = Offsets()
        self.pending = PendingOffsets()
        #: The number of commits so far, which orders them.
        self.count = 0
        #: Offsets that are about to be removed, by topic (None: of any); readers no longer see them.
        self._hidden: dict[str | None, list[Gone]] = {}
        #: The same of groups that are being deleted.
        self._hidden_of: dict[str, list[Gone]] = {}

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int) -> None:
        """Apply a record of the log to the state."""
        where = (key.group, key.topic, key.partition)
        if value is None:
            self.offsets.remove(*where)
            self.pending.remove(where)
            return
        self.count += 1
        committed = CommittedOffset.from_record(value)
        committed.order = self.count
        if producer_id < 0:
            self.offsets.put(*where, committed)
        else:
            self.pending.put(producer_id, where, committed)

    def put(self, group_id: str, committed: CommittedInTopic, now_ms: int, expires_ms: int) -> None:
        """Apply records of the log that commit offsets of a topic: what ``replay`` would do with each."""
        topic, topic_id, offsets = committed
        partitions, count = self.offsets.of_topic(group_id, topic), self.count
        for index, offset, leader_epoch, metadata in offsets:
            count += 1
            partitions[index] = CommittedOffset(offset, leader_epoch, metadata, now_ms, expires_ms, topic_id, count)
        self.count = count

    def remove_group(self, group_id: str) -> None:
        """Apply the tombstones of all offsets of a group, which are in the log: what ``replay`` would do with each."""
        self.offsets.remove_group(group_id)
        self.pending.remove_group(group_id)

    def end_transaction(self, producer_id: int, *, commit: bool) -> set[str]:
        """A transaction marker is in the log: apply or drop the offsets of the transaction; returns the groups that have such."""
        ended = self.pending.end(producer_id)
        for (group_id, topic, index), committed in ended.items():
            existing = self.offsets.of_group(group_id).get(topic, {}).get(index)
            if commit and (existing is None or existing.order < committed.order):
                self.offsets.put(group_id, topic, index, committed)
        return {group_id for group_id, _, _ in ended}

    def count_of(self, group_id: str) -> int:
        """The number of offsets of a group, those of open transactions included."""
        return self.offsets.count(group_id) + len(self.pending.of_group(group_id))

    def everything_of(self, group_id: str) -> list[tuple[str, int]]:
        """The topics and partitions with offsets of a group, those of open transactions included."""
        found = {(topic, index) for topic, indexes in self.offsets.of_group(group_id).items() for index in indexes}
        found.update(self.pending.of_group(group_id))
        return sorted(found)

    def visible(self, group_id: str) -> TopicOffsets:
        """The offsets that readers of a group see."""
        topics = self.offsets.of_group(group_id)
        if not self._hidden and group_id not in self._hidden_of:
            return topics
        of_any = [*self._hidden.get(None, ()), *self._hidden_of.get(group_id, ())]
        visible: TopicOffsets = {}
        for topic, partitions in topics.items():
            hidden = [*self._hidden.get(topic, ()), *of_any]
            left = partitions
            if hidden:
                left = {
                    index: committed
                    for index, committed in partitions.items()
                    if not any(gone(topic, committed) for gone in hidden)
                }
            if left:
                visible[topic] = left
        return visible

    def hide(self, gone: Gone, topic: str | None, parts: Iterator[Part]) -> Iterator[Part]:
        """Hide ``gone``, which concerns ``topic`` alone unless it is None, from readers at once; ``parts`` remove it."""
        self._hidden.setdefault(topic, []).append(gone)

        def hidden() -> Iterator[Part]:
            yield from parts
            same = self._hidden[topic]
            same.remove(gone)
            if not same:
                del self._hidden[topic]

        return hidden()

    def hide_of(self, group_id: str, gone: Gone, parts: Iterator[Part]) -> Generator[Part, None, None]:
        """Hide ``gone`` of a group from its readers from the first part to the last, or until this is closed; ``parts`` remove it."""
        same = self._hidden_of.setdefault(group_id, [])
        same.append(gone)
        try:
            yield from parts
        finally:
            same.remove(gone)
            if not same:
                del self._hidden_of[group_id]
