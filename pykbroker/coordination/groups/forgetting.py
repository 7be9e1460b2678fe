"""Removes expired offsets, empty groups, and offsets of deleted topics.

There may be very many, so this yields parts. Each is carried out before the next one is computed, and requests come in
between: every part reads the state again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.coordination.groups import committing
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.records import offset_tombstone
from pykbroker.coordination.outcome import CoordinatorRecord, Part

if TYPE_CHECKING:
    from pykbroker.coordination.groups.kinds import Kinds
    from pykbroker.coordination.groups.offsets import CommittedOffset, Offsets, TopicOffsets
    from pykbroker.coordination.groups.pending import PendingOffsets

#: Whether a committed offset for a topic of this name is to be removed.
Gone = Callable[[str, "CommittedOffset"], bool]

#: The weight of examining a group, and one offset, relative to a record (``runtime/slices.py``).
_GROUP_WEIGHT = 0.3
_OFFSET_WEIGHT = 0.1


class Forgetting:
    """See the module; ``largest`` is the approximate weight of a part."""

    __slots__ = ("_groups", "_kinds", "_offsets", "_pending")

    def __init__(
        self, groups: MutableMapping[str, Group], kinds: Kinds, offsets: Offsets, pending: PendingOffsets
    ) -> None:
        self._groups = groups
        self._kinds = kinds
        self._offsets = offsets
        self._pending = pending

    def expire(self, retention_ms: int, now_ms: int, largest: float) -> Iterator[Part]:
        """Remove expired offsets (``committing.expire``), and empty groups without offsets."""
        part = Part()
        for group_id in list(self._groups):
            tombstones = 0  # of this part, whose records are not replayed yet
            for some in _pieces(self._offsets.of_group(group_id), largest):
                group = self._groups.get(group_id)
                if group is None:
                    break
                present = self._offsets.present(group_id, some)
                pending = self._pending.of_group(group_id)
                records = committing.expire(group, present, pending, retention_ms, now_ms)
                tombstones += len(records)
                _add(part, records, len(some))
                if part.weight >= largest:
                    yield part
                    part, tombstones = Part(), 0
            group = self._groups.get(group_id)
            if group is not None and group.expires and group.is_empty and self._has_nothing_but(group_id, tombstones):
                _add(part, self._kinds.of(group).end(group), 0)
            if part.weight >= largest:
                yield part
                part = Part()
        yield part

    def _has_nothing_but(self, group_id: str, tombstones: int) -> bool:
        """Whether the tombstones remove all offsets of a group, and no open transaction has any."""
        return self._offsets.count(group_id) == tombstones and not self._pending.of_group(group_id)

    def forget(self, gone: Gone, topic: str | None, largest: float) -> Iterator[Part]:
        """Remove offsets of deleted topics, those in open transactions included; ``topic`` is the only topic concerned, None
        for any.
        """
        part = Part()
        for group_id in self._groups_of(topic):
            part.weight += _GROUP_WEIGHT  # also of a group that has none of them
            if part.weight >= largest:
                yield part
                part = Part()
            for some in _pieces(self._committed_for(group_id, topic), largest):
                _add(part, self._tombstones(gone, group_id, some), len(some))
                if part.weight >= largest:
                    yield part
                    part = Part()
        yield part

    def forget_group(self, group_id: str, gone: Gone, largest: float) -> Iterator[Part]:
        """Remove offsets of a group, those in open transactions included."""
        for some in _pieces(self._committed_for(group_id, None), largest):
            yield Part(self._tombstones(gone, group_id, some), len(some))

    def concerns(self, topic: str) -> bool:
        """Whether any group has offsets of a topic, those in open transactions included."""
        return bool(self._offsets.groups_of(topic) or self._pending.groups_of(topic))

    def _groups_of(self, topic: str | None) -> Iterable[str]:
        if topic is None:
            return dict.fromkeys((*self._offsets.groups(), *self._pending.groups()))
        return dict.fromkeys((*self._offsets.groups_of(topic), *self._pending.groups_of(topic)))

    def _committed_for(self, group_id: str, topic: str | None) -> dict[str, set[int]]:
        topics = self._offsets.of_group(group_id)
        if topic is None:
            found = {name: set(partitions) for name, partitions in topics.items()}
        else:
            found = {topic: set(topics[topic])} if topic in topics else {}
        for name, index in self._pending.of_group(group_id):
            if topic in (None, name):
                found.setdefault(name, set()).add(index)
        return found

    def _tombstones(self, gone: Gone, group_id: str, some: list[tuple[str, int]]) -> list[CoordinatorRecord]:
        return [offset_tombstone(group_id, *where) for where in some if self._is_gone(gone, group_id, *where)]

    def _is_gone(self, gone: Gone, group_id: str, topic: str, index: int) -> bool:
        """Whether all offsets of a partition are gone: a tombstone would also remove those of a recreated topic."""
        committed = self._offsets.of_group(group_id).get(topic, {}).get(index)
        found = [*([] if committed is None else [committed]), *self._pending.at((group_id, topic, index))]
        return bool(found) and all(gone(topic, each) for each in found)


def _add(part: Part, records: list[CoordinatorRecord], looked_at: int) -> None:
    part.records += records
    part.weight += len(records) + _GROUP_WEIGHT + _OFFSET_WEIGHT * looked_at


def _pieces(topics: TopicOffsets | dict[str, set[int]], largest: float) -> Iterator[list[tuple[str, int]]]:
    """Topics and partitions in pieces, each small enough for the tombstones of one part. What is added meanwhile may be left out."""
    return in_pieces(
        ((topic, index) for topic, partitions in list(topics.items()) for index in list(partitions)), largest
    )


def in_pieces(found: Iterable[tuple[str, int]], largest: float) -> Iterator[list[tuple[str, int]]]:
    """These topics and partitions in pieces of so many."""
    size = max(1, int(largest))
    rest = iter(found)
    while some := list(islice(rest, size)):
        yield some
