"""Replays records of ``__consumer_offsets`` into groups and offsets, after an append and when a partition is loaded.

A record of one kind of group ends a group of the other kind with the same id: this is how a group changes its protocol.
"""

from __future__ import annotations

from typing import Any

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.committed import Committed
from pykbroker.coordination.groups.consumer import replaying as consumer
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.surroundings import Surroundings
from pykbroker.coordination.groups.group import Group, find_of_kind
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.internal.group_metadata import GroupMetadataKey, GroupMetadataValue
from pykbroker.wire.internal.offset_commit import OffsetCommitKey


class Replaying:
    """The only code that changes the persisted state, ``groups`` and ``committed``."""

    def __init__(self, groups: dict[str, Group], committed: Committed, around: Surroundings) -> None:
        self._groups = groups
        self._committed = committed
        self._around = around
        #: The consumer group that the previous record ended.
        self._just_ended: str | None = None

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record to the state. Records of group types that are not served are skipped."""
        ended, self._just_ended = self._just_ended, None
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey):
            if value is not None and key.group not in self._groups:  # a group with offsets alone
                self._begin_classic(key.group)
            self._committed.replay(key, value, record.producer_id)
        elif isinstance(key, GroupMetadataKey):
            self._classic(key.group, value, downgraded=ended == key.group)
        elif isinstance(key, consumer.KEYS):
            self._consumer(key.group_id, key, value)

    def _classic(self, group_id: str, value: GroupMetadataValue | None, *, downgraded: bool) -> None:
        if value is None:
            self._end(group_id)
            return
        group = find_of_kind(self._groups.get, group_id, ClassicGroup) or self._begin_classic(group_id)
        group.restore(value)
        group.owes_rebalance = downgraded

    def _consumer(self, group_id: str, key: Any, value: Any) -> None:
        ends = consumer.ends_group(key, value)
        if ends:
            self._just_ended = group_id
        group = find_of_kind(self._groups.get, group_id, ConsumerGroup)
        if group is None:
            if value is None:
                return
            # A classic group that only holds offsets has no record to end it.
            group = self._groups[group_id] = ConsumerGroup(group_id, self._around)
        if ends:
            self._end(group_id)
        else:
            consumer.replay(group, key, value)

    def _begin_classic(self, group_id: str) -> ClassicGroup:
        group = self._groups[group_id] = ClassicGroup(group_id, self._around.clock, self._around.settings)
        return group

    def _end(self, group_id: str) -> None:
        group = self._groups.pop(group_id, None)
        if group is not None:
            group.die()
