"""The groups of a shard, as the kinds of groups change them when their records are replayed."""

from __future__ import annotations

from typing import Any, TypeVar

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.group import Group, find_of_kind
from pykbroker.coordination.groups.member_group import MemberGroup
from pykbroker.coordination.groups.surroundings import Surroundings

G = TypeVar("G", bound=Group)
K = TypeVar("K", bound=MemberGroup[Any])

#: A group and the class of groups that ended: any, or those of one kind.
Ended = tuple[str, type[Group]]


class ReplayedGroups:
    """See the module."""

    def __init__(self, groups: dict[str, Group], around: Surroundings) -> None:
        self._groups = groups
        self.around = around
        #: What the record before this one ended, and this one.
        self.ended_before: Ended | None = None
        self._ended: Ended | None = None

    def next_record(self) -> None:
        """A further record is replayed."""
        self.ended_before, self._ended = self._ended, None

    def get(self, group_id: str, kind: type[G]) -> G | None:
        """The group, if it is of this kind."""
        return find_of_kind(self._groups.get, group_id, kind)

    def add(self, group: G) -> G:
        """Add a new group, in place of one of another kind with its id."""
        self._groups[group.group_id] = group
        return group

    def of_record(self, key: Any, value: Any, kind: type[K], *, ends: bool) -> K | None:
        """The group that a record of a kind is of, a new one if there is none: a classic group that only holds offsets has no record
        to end it. None for a record that ends it, and for a tombstone of a group that is not there.
        """
        if ends:
            self.end(key.group_id, kind)
            return None
        group = self.get(key.group_id, kind)
        if group is None and value is not None:
            group = self.add(kind(key.group_id, self.around))
        return group

    def begin_classic(self, group_id: str) -> ClassicGroup:
        """Add a new classic group."""
        return self.add(ClassicGroup(group_id, self.around.clock, self.around.settings))

    def end(self, group_id: str, kind: type[Group]) -> None:
        """End a group, if it is of this kind."""
        self._ended = (group_id, kind)
        group = self._groups.get(group_id)
        if isinstance(group, kind):
            del self._groups[group_id]
            group.die()
