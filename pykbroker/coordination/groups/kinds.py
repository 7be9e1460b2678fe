"""The kinds of groups: one row for each.

Conversions between kinds are in ``consumer/migration.py``, and in the kinds' ``replay`` for records that replace a group of
another kind.
"""

from __future__ import annotations

from typing import Any

from pykbroker.coordination.groups.classic.kind import ClassicKind
from pykbroker.coordination.groups.consumer.kind import ConsumerKind
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.groups.no_group import NoGroup
from pykbroker.coordination.groups.share.kind import ShareKind
from pykbroker.coordination.groups.streams.kind import StreamsKind

KINDS: tuple[GroupKind[Any], ...] = (
    ClassicKind(),
    ConsumerKind(),
    ShareKind(),
    StreamsKind(),
)

_NO_GROUP: GroupKind[Any] = NoGroup()


class Kinds:
    """The kinds of groups that a coordinator has, by their groups and by their records."""

    __slots__ = ("_by_group", "all", "by_record_key", "effects")

    def __init__(self) -> None:
        kinds = self.all = KINDS
        self._by_group: dict[type, GroupKind[Any]] = {type(None): _NO_GROUP}
        self._by_group.update((kind.group_class, kind) for kind in kinds)
        self.by_record_key = {key: kind for kind in kinds for key in kind.record_keys}
        self.effects = {effect: factory for kind in kinds for effect, factory in kind.effects.items()}

    def of(self, group: Group | None) -> GroupKind[Any]:
        """The kind of a group; the one of no group for None."""
        return self._by_group[type(group)]
