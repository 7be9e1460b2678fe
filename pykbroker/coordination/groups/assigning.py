"""Computes the targets of large groups in a thread, as Apache Kafka computes all: the effect of a heartbeat that needs one.

Members get the target with later heartbeats.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.member_group import MemberGroup
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.runtime.waits import attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.group import Group
    from pykbroker.coordination.groups.kind import EffectContext
    from pykbroker.coordination.shards import Loaded
    from pykbroker.runtime.waits import Deferred

log = logging.getLogger(__name__)

#: Subscriptions of members to topics, and partitions or tasks, from which on a target is computed in a thread: 40,000 lines of an assignor.
MANY = 2000


@dataclass(frozen=True, slots=True)
class Assigning:
    """An effect: the target of a large group of a kind is to be computed, for the group epoch ``epoch``."""

    kind: type[MemberGroup[Any]]
    group_id: str
    epoch: int
    #: The target of each member. Called in a thread.
    compute: Callable[[], dict[str, Any]]
    #: The records of it, for a group that may have other members by then; called with the group, the epoch and the target.
    records: Callable[[Any, int, dict[str, Any]], list[CoordinatorRecord]]


def assigned(
    group: MemberGroup[Any],
    epoch: int,
    size: int,
    compute: Callable[[], dict[str, Any]],
    records: Callable[[Any, int, dict[str, Any]], list[CoordinatorRecord]],
) -> tuple[list[CoordinatorRecord], dict[str, Any]] | Assigning:
    """The records of a new target for the group, and the target of each member; or what is to be computed in a thread, where the members'
    subscriptions to topics and the partitions are more than MANY (``size``). Raises KafkaError UNKNOWN_SERVER_ERROR if there is none.
    """
    from pykbroker.coordination.groups.assignors.spec import AssignmentFailed

    if size > MANY:
        return Assigning(type(group), group.group_id, epoch, compute, records)
    try:
        given = compute()
    except AssignmentFailed as error:
        message = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    return records(group, epoch, given), given


def target_records(
    of_member: Callable[[str, str, Any], CoordinatorRecord],
    of_epoch: Callable[[str, int, int], CoordinatorRecord],
    group: MemberGroup[Any],
    epoch: int,
    given: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
) -> list[CoordinatorRecord]:
    """The records of the targets that are not the ``known`` ones (without them, the group's), in order, and of their epoch."""
    known = group.targets if known is None else known
    records = [
        of_member(group.group_id, member_id, target)
        for member_id, target in given.items()
        if target != known.get(member_id)
    ]
    return [*records, of_epoch(group.group_id, epoch, group.around.clock.now_ms())]


class TargetComputing:
    """See the module; of one coordinator."""

    def __init__(self, coordinator: EffectContext) -> None:
        self._coordinator = coordinator

    def __call__(self, loaded: Loaded[Any], assigning: Assigning) -> None:
        """Compute the target; one of a group at a time, and the next heartbeat asks for the next one."""
        group = loaded.shard.groups.get(assigning.group_id)
        if not isinstance(group, assigning.kind) or group.is_assigning:
            return
        group.is_assigning = True

        def over(done: Deferred[dict[str, Any]]) -> None:
            group.is_assigning = False
            if done.error is not None:
                log.warning(
                    "Group %s: failed to compute a new target assignment for epoch %d: %s",
                    *(assigning.group_id, assigning.epoch, done.error),
                )
                return
            self._coordinator.go_on(
                loaded, assigning.group_id, lambda present: _adopted(present, group, assigning, done.value)
            )

        work = attempt(self._coordinator.host.runtime.offload_read, assigning.compute)
        work.fold(over).or_log("assigning partitions in group %s", assigning.group_id)


def _adopted(present: Group | None, group: MemberGroup[Any], assigning: Assigning, given: dict[str, Any]) -> Outcome:
    """The records of a target, unless the group has ended (there may be another of its name, which began anew with its epochs) or has it
    already; members that are gone get none.
    """
    if present is not group or assigning.epoch <= group.target_epoch:
        return Outcome()
    found = {member_id: target for member_id, target in given.items() if member_id in group.members}
    return Outcome(assigning.records(group, assigning.epoch, found))
