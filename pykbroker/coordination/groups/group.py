"""``Group``, the base class of the groups of all kinds, as the shard sees them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sized
from enum import Enum
from typing import ClassVar, TypeVar

from pykbroker.coordination.outcome import Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError


class Group:
    """A group with its members. What is persisted of it changes by replay alone (``GroupKind.replay``). The properties may be
    attributes of a kind's groups, which it names in ``__slots__``.
    """

    __slots__ = ("group_id",)

    #: The type that ListGroups shows.
    type_name: ClassVar[str]
    #: Whether it ends by itself when it is empty and has no offsets.
    expires: ClassVar[bool] = True

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id

    @property
    def state(self) -> Enum:
        """The state; its value is the name that clients are shown."""
        raise NotImplementedError

    @property
    def members(self) -> Sized:
        """Its members."""
        raise NotImplementedError

    @property
    def protocol_type(self) -> str | None:
        """The protocol type that ListGroups shows: ``consumer``, ``connect`` ...; None for a group that only commits offsets."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not len(self.members)

    @property
    def wake_at(self) -> float:
        """When something becomes due, in seconds on the monotonic clock; infinity for never."""
        return math.inf

    # Its committed offsets

    @property
    def offsets_age(self) -> bool:
        """Whether its offsets can expire."""
        return True

    @property
    def empty_since_ms(self) -> int | None:
        """The time from which its offsets age; None if each ages from its commit."""
        return None

    def subscribes(self, topic: str) -> bool:
        """Whether its members subscribe to this topic."""
        raise NotImplementedError

    # Its life

    def loaded(self) -> Outcome:
        """The log has been replayed: every member's session begins anew."""
        return Outcome()

    def unload(self) -> Outcome:
        """The shard is unloaded: waiting requests are answered NOT_COORDINATOR."""
        self.die()
        return Outcome()

    def die(self) -> None:
        """The group has ended: nothing wakes it any more."""
        raise NotImplementedError


G = TypeVar("G", bound=Group)

#: Finds a group by id, for a step that continues after its records were replayed.
Find = Callable[[str], Group | None]


def find_of_kind(find: Find, group_id: str, kind: type[G]) -> G | None:
    """The group if it exists and is of this kind: another record may have ended or converted it."""
    group = find(group_id)
    return group if isinstance(group, kind) else None


def check_group_id(group_id: str) -> None:
    """Raise KafkaError INVALID_GROUP_ID for an empty id."""
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


def group_not_found(group_id: str) -> KafkaError:
    """GROUP_ID_NOT_FOUND with Kafka's message."""
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
