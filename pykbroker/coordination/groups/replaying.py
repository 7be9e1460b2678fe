"""Replays records of ``__consumer_offsets`` into groups and offsets, after an append and when a partition is loaded.

A record of one kind of group ends a group of another kind with the same id: this is how a group changes its protocol.
"""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.coordination.groups.committed import Committed
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.kinds import Kinds
from pykbroker.coordination.groups.offsets import CommittedInTopic
from pykbroker.coordination.groups.replayed import ReplayedGroups
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.internal.offset_commit import OffsetCommitKey


class Replaying:
    """The only code that changes the persisted state, ``groups`` and ``committed``."""

    def __init__(self, groups: dict[str, Group], committed: Committed, kinds: Kinds, around: Surroundings) -> None:
        self._groups = groups
        self._replayed = ReplayedGroups(groups, around)
        self._committed = committed
        self._kinds = kinds

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record to the state. Records of kinds of groups that are not served are skipped."""
        self._replayed.next_record()
        key, value = record.key, record.value
        if type(key) is OffsetCommitKey:
            if value is not None and key.group not in self._groups:  # a group with offsets alone
                self._replayed.begin_classic(key.group)
            self._committed.replay(key, value, record.producer_id)
            return
        kind = self._kinds.of_record(type(key))
        if kind is not None:
            kind.replay(self._replayed, key, value)

    def replay_commit(self, group_id: str, topics: Iterable[CommittedInTopic], now_ms: int, expires_ms: int) -> None:
        """Apply the records of one commit, as ``replay`` would one by one."""
        self._replayed.next_record()
        if group_id not in self._groups:
            self._replayed.begin_classic(group_id)
        for committed in topics:
            self._committed.put(group_id, committed, now_ms, expires_ms)
