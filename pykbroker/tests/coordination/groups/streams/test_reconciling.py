"""A member's step towards its target: nobody runs a task that another has not given up, and all end at their targets."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.coordination.groups.streams.member import StreamsMember, StreamsMemberState
from pykbroker.coordination.groups.streams.reconciling import TaskGoal, reconcile
from pykbroker.coordination.groups.streams.tasks import OwnedTasks, Task, TaskTuple
from pykbroker.wire.errors import ErrorCode, KafkaError

STABLE, UNREVOKED, UNRELEASED = (
    StreamsMemberState.STABLE,
    StreamsMemberState.UNREVOKED_TASKS,
    StreamsMemberState.UNRELEASED_TASKS,
)
A, B = ("0", 0), ("0", 1)


class Group:
    """Members, one a process, and who holds what: what is assigned, and what has yet to be given up."""

    def __init__(self, *members: StreamsMember) -> None:
        self.members = {member.member_id: member for member in members}

    def running(self, tasks: AbstractSet[Task], process_id: str | None = None) -> AbstractSet[Task]:
        some = [each for each in self._all() if process_id in (None, each.process_id)]
        return {
            task for task in tasks if any(task in each.assigned.active or task in each.revoking.active for each in some)
        }

    def standing_by(self, tasks: AbstractSet[Task], process_id: str) -> AbstractSet[Task]:
        own = [each for each in self._all() if each.process_id == process_id]
        return {
            task
            for task in tasks
            if any(task in each.assigned.standby or task in each.revoking.standby for each in own)
        }

    def warming_up(self, tasks: AbstractSet[Task], process_id: str) -> AbstractSet[Task]:
        own = [each for each in self._all() if each.process_id == process_id]
        return {
            task for task in tasks if any(task in each.assigned.warmup or task in each.revoking.warmup for each in own)
        }

    def _all(self) -> list[StreamsMember]:
        return list(self.members.values())

    def step(self, member_id: str, epoch: int, target: TaskTuple, *, obeys: bool = True) -> StreamsMember:
        """One heartbeat; who obeys reports what it is assigned, else also what it was told to give up."""
        member = self.members[member_id]
        has, revoking = member.assigned, () if obeys else member.revoking.active
        reported = TaskTuple(frozenset([*has.active, *revoking]), has.standby, has.warmup)
        self.members[member_id] = reconcile(member, TaskGoal(epoch, target, self, reported))
        return self.members[member_id]


def member(name: str, *active: Task, epoch: int = 1) -> StreamsMember:
    return StreamsMember(name, process_id=name, epoch=epoch, assigned=OwnedTasks(dict.fromkeys(active, epoch)))


def target(*active: Task, standby: tuple[Task, ...] = ()) -> TaskTuple:
    return TaskTuple(frozenset(active), frozenset(standby))


def test_a_task_moves_only_when_it_is_given_up() -> None:
    group = Group(member("one", A, B), member("two"))
    waiting = group.step("two", 2, target(B))
    assert (waiting.state, waiting.epoch, dict(waiting.assigned.active)) == (UNRELEASED, 2, {})
    # It still has B when it hears of the new target: the report of this heartbeat has it.
    one = group.members["one"]
    goal = TaskGoal(2, target(A), group, TaskTuple(frozenset({A, B})))
    group.members["one"] = told = reconcile(one, goal)
    assert (told.state, told.epoch, dict(told.assigned.active), dict(told.revoking.active)) == (
        UNREVOKED,
        1,
        {A: 1},
        {B: 1},
    )
    assert group.step("two", 2, target(B)).state is UNRELEASED
    assert group.step("one", 2, target(A), obeys=False).state is UNREVOKED
    done = group.step("one", 2, target(A))
    assert (done.state, done.epoch) == (STABLE, 2)
    got = group.step("two", 2, target(B))
    assert (got.state, dict(got.assigned.active)) == (STABLE, {B: 2})


def test_a_role_changes_within_a_member_at_once() -> None:
    group = Group(member("one", A))
    group.members["one"].assigned = OwnedTasks({}, frozenset({A}))
    got = group.step("one", 2, target(A))
    assert (got.state, dict(got.assigned.active), got.assigned.standby) == (STABLE, {A: 2}, frozenset())


def test_a_member_in_a_state_of_a_later_release_begins_anew() -> None:
    one = member("one", A)
    one.state = StreamsMemberState.UNKNOWN
    with pytest.raises(KafkaError) as error:
        reconcile(one, TaskGoal(2, target(A), Group(), TaskTuple(frozenset({A}))))
    assert error.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert reconcile(one, TaskGoal(2, target(A), Group(), TaskTuple())).epoch == 2


TASKS = [("0", index) for index in range(5)]


@given(
    before=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    targets=st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), min_size=1, max_size=3),
    standbys=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    order=st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12),
)
def test_no_task_is_active_twice_and_all_end_at_their_targets(
    before: list[int], targets: list[list[int]], standbys: list[int], order: list[tuple[int, bool]]
) -> None:
    """Targets change on the way; some members do not give up at once."""
    group = Group(
        *(member(str(who), *(t for t, owner in zip(TASKS, before, strict=True) if owner == who)) for who in range(3))
    )

    def step(who: int, number: int, *, obeys: bool) -> None:
        active = frozenset(t for t, owner in zip(TASKS, targets[number], strict=True) if owner == who)
        standby = frozenset(t for t, owner in zip(TASKS, standbys, strict=True) if owner == who) - active
        group.step(str(who), number + 2, TaskTuple(active, standby), obeys=obeys)
        running = [t for each in group.members.values() for t in (*each.assigned.active, *each.revoking.active)]
        assert len(running) == len(set(running))

    for number in range(len(targets)):
        for who, obeys in order:
            step(who, number, obeys=obeys)
    for _ in range(4):
        for who in range(3):
            step(who, len(targets) - 1, obeys=True)
    for who, each in group.members.items():
        assert (each.state, each.epoch) == (STABLE, len(targets) + 1)
        assert set(each.assigned.active) == {
            t for t, owner in zip(TASKS, targets[-1], strict=True) if str(owner) == who
        }
