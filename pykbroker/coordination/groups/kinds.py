"""The kinds of groups: one row for each.

Conversions between kinds are in ``consumer/migration.py``, and in the kinds' ``replay`` for records that replace a group of
another kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.coordination.groups.classic.kind import ClassicKind
from pykbroker.coordination.groups.consumer.kind import ConsumerKind
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.groups.no_group import NoGroup

if TYPE_CHECKING:
    from pykbroker.coordination.groups.kind import EffectContext
    from pykbroker.coordination.groups.share.kind import ShareKind
    from pykbroker.coordination.groups.streams.kind import StreamsKind


class LateKind(NamedTuple):
    """A kind that is imported with the first group, record or effect of it, so that others start without it."""

    create: Callable[[], GroupKind[Any]]
    #: What the names of the modules begin with that have its classes: its folder, and its records.
    modules: tuple[str, str]


def _share() -> ShareKind:
    from pykbroker.coordination.groups.share.kind import ShareKind

    return ShareKind()


def _streams() -> StreamsKind:
    from pykbroker.coordination.groups.streams.kind import StreamsKind

    return StreamsKind()


KINDS: tuple[GroupKind[Any] | LateKind, ...] = (
    ClassicKind(),
    ConsumerKind(),
    LateKind(_share, ("pykbroker.coordination.groups.share.", "pykbroker.wire.internal.share_group_")),
    LateKind(_streams, ("pykbroker.coordination.groups.streams.", "pykbroker.wire.internal.streams_group_")),
)

_NO_GROUP: GroupKind[Any] = NoGroup()


class Kinds:
    """The kinds of groups that a coordinator has, by their groups, their records and their effects."""

    __slots__ = ("_by_group", "_by_record_key", "_effects", "_late")

    def __init__(self) -> None:
        self._by_group: dict[type, GroupKind[Any]] = {type(None): _NO_GROUP}
        self._by_record_key: dict[type, GroupKind[Any]] = {}
        self._effects: dict[type, Callable[[EffectContext], Any]] = {}
        self._late: list[LateKind] = []
        for kind in KINDS:
            if isinstance(kind, LateKind):
                self._late.append(kind)
            else:
                self._add(kind)

    def of(self, group: Group | None) -> GroupKind[Any]:
        """The kind of a group; the one of no group for None."""
        try:
            return self._by_group[type(group)]
        except KeyError:
            self._import(type(group))
            return self._by_group[type(group)]

    def of_record(self, key: type) -> GroupKind[Any] | None:
        """The kind that has records with keys of a class, None if no kind has them."""
        found = self._by_record_key.get(key)
        if found is None and self._import(key):
            found = self._by_record_key.get(key)
        return found

    def effect(self, effect: type) -> Callable[[EffectContext], Any]:
        """What creates the function that carries out the effects of a class."""
        if effect not in self._effects:
            self._import(effect)
        return self._effects[effect]

    def _add(self, kind: GroupKind[Any]) -> None:
        self._by_group[kind.group_class] = kind
        self._by_record_key.update(dict.fromkeys(kind.record_keys, kind))
        self._effects.update(kind.effects)

    def _import(self, of: type) -> bool:
        """Import the kind that has a class, if it is not yet there."""
        for late in self._late:
            if of.__module__.startswith(late.modules):
                self._late.remove(late)
                self._add(late.create())
                return True
        return False
