"""A member's step towards its target assignment.

    STABLE            it has its target, or gives up what is not in it first
    UNREVOKED_TASKS   it was told to give tasks up, and is waited for
    UNRELEASED_TASKS  it misses tasks that others have not given up yet

A task is active for one member, and a process has it in one role, since its threads share a folder of state: a role that changes
within a member changes at once where nothing has to be closed first. Source: Apache Kafka 4.4.0's CurrentAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol

from pykbroker.coordination.groups.streams.member import StreamsMember, StreamsMemberState
from pykbroker.coordination.groups.streams.tasks import OWNS_NOTHING, OwnedTasks, Task, TaskTuple
from pykbroker.wire.errors import ErrorCode, KafkaError


class TaskHolders(Protocol):
    """The processes that have tasks, or have yet to give them up. Of many tasks none takes a line of its own."""

    def running(self, tasks: AbstractSet[Task], process_id: str | None = None, /) -> AbstractSet[Task]:
        """Those of the tasks that are active for a process, or for any."""
        ...

    def standing_by(self, tasks: AbstractSet[Task], process_id: str, /) -> AbstractSet[Task]:
        """Those of the tasks that a process has as standby tasks."""
        ...

    def warming_up(self, tasks: AbstractSet[Task], process_id: str, /) -> AbstractSet[Task]:
        """Those of the tasks that a process has as warm-up tasks."""
        ...


@dataclass(slots=True)
class TaskGoal:
    """What a member is reconciled with."""

    epoch: int
    target: TaskTuple
    holders: TaskHolders
    #: What it says that it has; None if it says nothing.
    reported: TaskTuple | None


def reconcile(member: StreamsMember, goal: TaskGoal) -> StreamsMember:
    """The member after one step. Raises KafkaError FENCED_MEMBER_EPOCH in a state of a later release, unless it has nothing."""
    step = _Step(member, goal)
    if member.state is StreamsMemberState.STABLE:
        return member if member.epoch == goal.epoch else step.towards(member.epoch)
    if member.state is StreamsMemberState.UNREVOKED_TASKS:
        return member if step.still_has(member.revoking) else step.towards(member.epoch + 1)
    if member.state is StreamsMemberState.UNRELEASED_TASKS:
        return step.towards(member.epoch)
    if goal.reported is None or any(goal.reported):
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
        )
    return step.towards(goal.epoch)


class _Step:
    """See ``reconcile``."""

    def __init__(self, member: StreamsMember, goal: TaskGoal) -> None:
        self._member = member
        self._goal = goal

    def still_has(self, revoking: OwnedTasks) -> bool:
        """Whether the member has not given up all of these."""
        reported = self._goal.reported
        return reported is None or not (
            reported.active.isdisjoint(revoking.active)
            and reported.standby.isdisjoint(revoking.standby)
            and reported.warmup.isdisjoint(revoking.warmup)
        )

    def towards(self, epoch: int) -> StreamsMember:
        """The next assignment; ``epoch`` is the member's as long as it has to give up tasks."""
        member, target = self._member, self._goal.target
        has = member.assigned
        active = {task: since for task, since in has.active.items() if task in target.active}
        revoked_active = {task: since for task, since in has.active.items() if task not in target.active}
        standby, revoked_standby = has.standby & target.standby, has.standby - target.standby
        warmup, revoked_warmup = has.warmup & target.warmup, has.warmup - target.warmup
        missing_active = target.active - active.keys()
        missing_standby, missing_warmup = target.standby - standby, target.warmup - warmup
        new_active = missing_active - self._taken_of_active(missing_active)
        new_standby = missing_standby - self._taken_of_standby(missing_standby)
        new_warmup = missing_warmup - self._taken_of_warmup(missing_warmup)
        waits = len(new_active) + len(new_standby) + len(new_warmup) < (
            len(missing_active) + len(missing_standby) + len(missing_warmup)
        )
        # What changes its role within the member: from active to standby, and between standby and warm-up.
        changed = (new_standby & has.active.keys()) | (new_standby & has.warmup)
        standby, new_standby, revoked_warmup = standby | changed, new_standby - changed, revoked_warmup - changed
        changed = new_warmup & has.standby
        warmup, new_warmup, revoked_standby = warmup | changed, new_warmup - changed, revoked_standby - changed
        # What becomes active is kept in its former role until then.
        revoking = OwnedTasks(
            revoked_active,
            revoked_standby - target.active,
            revoked_warmup - target.active,
        )
        must_revoke = not revoking.is_empty and self.still_has(revoking)
        promoted = set() if must_revoke else new_active
        standby |= (has.standby & target.active) - promoted
        warmup |= (has.warmup & target.active) - promoted
        if must_revoke:
            assigned = OwnedTasks(active, standby, warmup)
            return self._moved(epoch, StreamsMemberState.UNREVOKED_TASKS, assigned, revoking)
        state = StreamsMemberState.UNRELEASED_TASKS if waits else StreamsMemberState.STABLE
        active |= dict.fromkeys(new_active, self._goal.epoch)
        return self._moved(self._goal.epoch, state, OwnedTasks(active, standby | new_standby, warmup | new_warmup))

    def _moved(
        self, epoch: int, state: StreamsMemberState, assigned: OwnedTasks, revoking: OwnedTasks = OWNS_NOTHING
    ) -> StreamsMember:
        member = self._member
        return replace(
            member, epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, revoking=revoking
        )

    def _taken_of_active(self, tasks: AbstractSet[Task]) -> AbstractSet[Task]:
        """The tasks that are not free to become active for the member."""
        others = self._others_standing_by(tasks) | self._others_warming_up(tasks)
        return self._goal.holders.running(tasks) | others

    def _taken_of_standby(self, tasks: AbstractSet[Task]) -> AbstractSet[Task]:
        process, holders = self._member.process_id, self._goal.holders
        others_run = holders.running(tasks, process) - self._member.assigned.active.keys()
        return others_run | holders.standing_by(tasks, process) | self._others_warming_up(tasks)

    def _taken_of_warmup(self, tasks: AbstractSet[Task]) -> AbstractSet[Task]:
        process, holders = self._member.process_id, self._goal.holders
        return holders.running(tasks, process) | self._others_standing_by(tasks) | holders.warming_up(tasks, process)

    def _others_standing_by(self, tasks: AbstractSet[Task]) -> AbstractSet[Task]:
        """The tasks that other members of the process have as standby tasks."""
        member = self._member
        return self._goal.holders.standing_by(tasks - member.assigned.standby, member.process_id)

    def _others_warming_up(self, tasks: AbstractSet[Task]) -> AbstractSet[Task]:
        """The tasks that other members of the process have as warm-up tasks."""
        member = self._member
        return self._goal.holders.warming_up(tasks - member.assigned.warmup, member.process_id)
