"""A group of any kind."""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.consumer.group import ConsumerGroup

Group = ClassicGroup | ConsumerGroup

#: Finds a group by its id, for a step that goes on after its records were replayed.
Find = Callable[[str], Group | None]
