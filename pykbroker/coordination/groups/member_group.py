"""Groups whose members heartbeat with an epoch (KIP-848, KIP-932, KIP-1071): their members, and the checks that all of them make.

Error codes and messages are Kafka's, with the type of the group in them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from itertools import chain, compress, repeat
from operator import le
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pykbroker.coordination.groups.group import Find, Group, group_not_found
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.member_settings import MemberSettings
    from pykbroker.coordination.groups.surroundings import Surroundings


#: Member epochs of a request to leave: for good, or (static members) to return within the session timeout.
LEAVING = -1
LEAVING_FOR_NOW = -2


class MemberWithEpoch(Protocol):
    """What the checks look at. ``previous_epoch`` is that before the last change."""

    member_id: str
    epoch: int


T = TypeVar("T")
M = TypeVar("M", bound=MemberWithEpoch)
G = TypeVar("G", bound="MemberGroup[Any]")


class MemberGroup(Group, Generic[M]):
    """See the module."""

    __slots__ = ("around", "is_assigning", "members")

    #: The epoch of its target assignment, and when that was computed, epoch milliseconds; 0 before the first.
    target_epoch: int
    target_timestamp_ms: int
    #: The target of each member, as its kind has it.
    targets: Mapping[str, Any]

    #: The member of each ``group.instance.id``, in kinds that have static members.
    _static: Mapping[str, str] = {}

    def __init__(self, group_id: str, around: Surroundings) -> None:
        super().__init__(group_id)
        self.around = around
        self.members: dict[str, M] = {}
        #: Whether a thread computes its target (``assigning``).
        self.is_assigning = False

    @property
    def settings(self) -> MemberSettings:
        """The broker's settings of groups of this kind."""
        raise NotImplementedError

    @property
    def own_configs(self) -> Mapping[str, str]:
        """The settings of this group, as text."""
        return self.around.group_configs(self.group_id)

    @property
    def session_timeout_ms(self) -> int:
        return self.settings.session_of(self.own_configs)

    @property
    def heartbeat_interval_ms(self) -> int:
        return self.settings.heartbeat_of(self.own_configs)

    def may_assign(self, epoch: int) -> bool:
        """Whether a target for this group epoch is needed, none is being computed, and the interval since the last one has passed
        (KIP-1263).

        Until then members are reconciled with the present target, and one of their later heartbeats computes the new one.
        """
        if epoch <= self.target_epoch or self.is_assigning:
            return False
        interval_ms = self.settings.assignment_interval_of(self.own_configs)
        since_ms = self.around.clock.now_ms() - self.target_timestamp_ms
        return not interval_ms or not self.target_timestamp_ms or since_ms >= interval_ms

    def member(self, member_id: str) -> M:
        """A member. Raises KafkaError UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            message = f"Member {member_id} is not a member of group {self.group_id}."
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, message)
        return member

    def static_member(self, instance_id: str | None) -> M | None:
        """The member with a ``group.instance.id``."""
        member_id = None if instance_id is None else self._static.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def known_instance(self, instance_id: str) -> M:
        """The static member. Raises KafkaError UNKNOWN_MEMBER_ID."""
        member = self.static_member(instance_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        return member

    def named(self, member_id: str, instance_id: str | None) -> M:
        """The member of an id, or of a ``group.instance.id``. Raises KafkaError UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if both are not
        of one member.
        """
        if instance_id is None:
            return self.member(member_id)
        member = self.known_instance(instance_id)
        check_instance(member, member_id, instance_id)
        return member

    def check_room(self, member_id: str, most: int) -> None:
        """Raises KafkaError GROUP_MAX_SIZE_REACHED unless the member is in the group or the group is below its maximum size."""
        if len(self.members) >= most and member_id not in self.members:
            message = f"The {self.type_name} group has reached its maximum capacity of {most} members."
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, message)

    def fenced(self, member: M, epoch: int, previous: str = "") -> KafkaError:
        """FENCED_MEMBER_EPOCH for a member that heartbeats with another epoch than its own; ``previous`` says more of that."""
        compared = "greater" if epoch > member.epoch else "smaller"
        return KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The {self.type_name} group member has a {compared} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}){previous}. The member must abandon all its partitions and rejoin.",
        )


def count_down(counts: Counter[str], names: frozenset[str]) -> None:
    """Count the names of a member that is gone down, and remove what reaches zero: no line for each, since there may be 100,000."""
    last = [*compress(names, map((1).__ge__, map(counts.__getitem__, names)))]
    if len(last) < len(names):
        dict.update(counts, zip(names, map((-1).__add__, map(counts.__getitem__, names)), strict=True))
    deque(map(counts.pop, last, repeat(0)), maxlen=0)


def take(counts: Counter[T], some: Iterable[T]) -> None:
    """Count down what a member has few of, perhaps twice, and remove what reaches zero."""
    for each in some:
        counts[each] -= 1
        if counts[each] <= 0:
            del counts[each]


def names_after(counts: Counter[str], before: Iterable[Iterable[str]], after: Iterable[str] = ()) -> set[str]:
    """The names that are counted once some that were counted are not, and others are."""
    gone = Counter(chain.from_iterable(before))
    names = set(counts)
    names.difference_update(compress(gone, map(le, map(counts.__getitem__, gone), gone.values())))
    names.update(after)
    return names


def check_instance(member: MemberWithEpoch, member_id: str, instance_id: str) -> None:
    """Raises KafkaError FENCED_INSTANCE_ID if the ``group.instance.id`` has another member id."""
    if member.member_id != member_id:
        message = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, message)


def invalid(message: str) -> KafkaError:
    """INVALID_REQUEST."""
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def check_not_blank(text: str | None, field: str) -> None:
    """Raises KafkaError INVALID_REQUEST for a text of spaces; None is none."""
    if text is not None and not text.strip():
        raise invalid(f"{field} can't be empty.")


def existing(find: Find, group_id: str, kind: type[G]) -> G:
    """The group of a kind. Raises KafkaError GROUP_ID_NOT_FOUND, for one of another kind, too."""
    group = find(group_id)
    if group is None:
        raise group_not_found(group_id)
    if not isinstance(group, kind):
        raise of_another_kind(group_id, kind)
    return group


def of_another_kind(group_id: str, kind: type[Group]) -> KafkaError:
    """GROUP_ID_NOT_FOUND for a group that is there, with Kafka's message."""
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {kind.type_name} group.")
