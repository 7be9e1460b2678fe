"""A group of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.consumer.group import ConsumerGroup

Group = ClassicGroup | ConsumerGroup

G = TypeVar("G", ClassicGroup, ConsumerGroup)

#: Finds a group by id, for a step that continues after its records were replayed.
Find = Callable[[str], Group | None]


def find_of_kind(find: Find, group_id: str, kind: type[G]) -> G | None:
    """The group if it exists and is of this kind: another record may have ended or converted it."""
    group = find(group_id)
    return group if isinstance(group, kind) else None
