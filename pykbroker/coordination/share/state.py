"""What the share coordinator keeps for one share partition: where it starts, and the states of records after that (KIP-932)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from pykbroker.wire.primitives import uuid_to_str

#: The state of records that are given up and wait for their dead letters (KIP-1191).
ARCHIVING = 3

#: The start offset of a share partition that nobody has read yet: the group's share.auto.offset.reset says where it begins.
UNINITIALIZED = -1


class StateBatch(NamedTuple):
    """Offsets ``first`` to ``last`` (inclusive) in one delivery state, delivered ``deliveries`` times."""

    first: int
    last: int
    state: int
    deliveries: int


class SharePartitionKey(NamedTuple):
    """A partition of a share group."""

    group_id: str
    topic_id: bytes
    partition: int

    def __str__(self) -> str:
        """The key by which FindCoordinator asks, and which decides about the partition of ``__share_group_state``."""
        return f"{self.group_id}:{uuid_to_str(self.topic_id)}:{self.partition}"


@dataclass(frozen=True, slots=True)
class ShareState:
    """Replaced when it changes. ``batches`` are in order and do not overlap; times are in epoch milliseconds."""

    snapshot_epoch: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = UNINITIALIZED
    delivery_complete_count: int = -1
    batches: tuple[StateBatch, ...] = ()
    created_ms: int = 0
    written_ms: int = 0
    #: When no record waited for its dead letter; 0 if that is not known. Letters of those that wait now are not older.
    none_archiving_ms: int = 0


def combine(known: Sequence[StateBatch], new: Sequence[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Batches with later ones put over them, from ``start_offset`` on (-1: all).

    Of two that have an offset, the one with more deliveries counts, then the one with the higher state; neighbours that are
    alike become one. ``known`` is in order and does not overlap.
    """
    before: Sequence[StateBatch] = ()
    after: Sequence[StateBatch] = ()
    if new:
        begin = bisect_left(known, min(each.first for each in new) - 1, key=_last)
        end = bisect_right(known, max(each.last for each in new) + 1, key=_first)
        before, known, after = known[:begin], known[begin:end], known[end:]
    return tuple(_pruned([*before, *_swept([*known, *new]), *after], start_offset))


def _swept(batches: list[StateBatch]) -> list[StateBatch]:
    """Batches in any order and overlap, as batches in order."""
    edges = sorted({offset for each in batches for offset in (each.first, each.last + 1)})
    starting: dict[int, list[StateBatch]] = {}
    for each in batches:
        starting.setdefault(each.first, []).append(each)
    found: list[StateBatch] = []
    active: list[StateBatch] = []
    for offset, following in pairwise(edges):
        active = [each for each in active if each.last >= offset] + starting.get(offset, [])
        if not active:
            continue
        best = max(active, key=_priority)
        if found and found[-1].last + 1 == offset and _priority(found[-1]) == _priority(best):
            found[-1] = found[-1]._replace(last=following - 1)
        else:
            found.append(StateBatch(offset, following - 1, best.state, best.deliveries))
    return found


def _pruned(batches: list[StateBatch], start_offset: int) -> list[StateBatch]:
    if start_offset == UNINITIALIZED:
        return batches
    kept = batches[bisect_left(batches, start_offset, key=_last) :]
    if kept and kept[0].first < start_offset:
        kept[0] = kept[0]._replace(first=start_offset)
    return kept


def _priority(batch: StateBatch) -> tuple[int, int]:
    return batch.deliveries, batch.state


def _first(batch: StateBatch) -> int:
    return batch.first


def _last(batch: StateBatch) -> int:
    return batch.last
