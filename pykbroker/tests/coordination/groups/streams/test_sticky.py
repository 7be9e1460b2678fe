"""What holds for every assignment of tasks. That it is Kafka's, member by member, ``compat_tests/assignors`` compares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.coordination.groups.streams.sticky import (
    PriorityQueue,
    TaskAssignmentFailed,
    TaskGroupSpec,
    TaskMemberSpec,
    assign_sticky,
)
from pykbroker.coordination.groups.streams.tasks import Task, TaskTuple


@st.composite
def specs(draw: st.DrawFn) -> TaskGroupSpec:
    """A group whose members have some of the tasks, each active once, and say so of others."""
    tasks = {str(n): count for n, count in enumerate(draw(st.lists(st.integers(1, 8), min_size=1, max_size=5)))}
    everything = [(name, index) for name, count in tasks.items() for index in range(count)]
    members = draw(st.integers(1, 8))
    owner = draw(st.lists(st.integers(-1, members - 1), min_size=len(everything), max_size=len(everything)))
    specs = {}
    for member in range(members):
        active = frozenset(task for task, who in zip(everything, owner, strict=True) if who == member)
        standby = frozenset(draw(st.sets(st.sampled_from(everything)))) - active
        offsets = draw(st.dictionaries(st.sampled_from(everything), st.integers(0, 100)))
        specs[f"member-{member}"] = TaskMemberSpec(f"process-{draw(st.integers(0, 4))}", active, standby, offsets)
    stateful = frozenset(draw(st.sets(st.sampled_from(sorted(tasks)))))
    return TaskGroupSpec(specs, tasks, stateful, draw(st.integers(0, 3)))


@given(specs())
def test_every_task_is_active_once_and_a_process_has_it_in_one_role(spec: TaskGroupSpec) -> None:
    given_tasks = assign_sticky(spec)
    everything = sorted((name, index) for name, count in spec.tasks.items() for index in range(count))
    assert sorted(task for each in given_tasks.values() for task in each.active) == everything
    processes: dict[str, list[Task]] = {}
    for member_id, tasks in given_tasks.items():
        processes.setdefault(spec.members[member_id].process_id, []).extend([*tasks.active, *tasks.standby])
        assert not tasks.warmup
    for held in processes.values():
        assert len(held) == len(set(held))
    standbys = [task for each in given_tasks.values() for task in each.standby]
    wanted = min(spec.standby_replicas, len(processes) - 1)
    assert sorted(standbys) == sorted(task for task in everything if task[0] in spec.stateful for _ in range(wanted))


@given(specs())
def test_active_tasks_are_even_over_members_of_equal_processes(spec: TaskGroupSpec) -> None:
    for number, member in enumerate(spec.members.values()):
        member.process_id = f"process-{number}"
    counts = [len(tasks.active) for tasks in assign_sticky(spec).values()]
    assert max(counts) - min(counts) <= 1


@given(specs())
def test_what_is_even_stays_where_it_is(spec: TaskGroupSpec) -> None:
    for number, member in enumerate(spec.members.values()):
        member.process_id = f"process-{number}"
    spec.standby_replicas = 0
    first = assign_sticky(spec)
    again = TaskGroupSpec(
        {each: TaskMemberSpec(spec.members[each].process_id, tasks.active) for each, tasks in first.items()},
        spec.tasks,
        spec.stateful,
    )
    assert assign_sticky(again) == first


def test_nobody_is_there() -> None:
    assert assign_sticky(TaskGroupSpec({}, {})) == {}
    with pytest.raises(TaskAssignmentFailed, match="No process available to assign active task 0_0"):
        assign_sticky(TaskGroupSpec({}, {"0": 1}))


def test_a_member_without_anything_to_do_has_an_empty_target() -> None:
    spec = TaskGroupSpec({"a": TaskMemberSpec("p"), "b": TaskMemberSpec("p")}, {"0": 1})
    assert sorted(map(len, (tasks.active for tasks in assign_sticky(spec).values()))) == [0, 1]
    assert TaskTuple() in assign_sticky(spec).values()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers())))
def test_the_queue_gives_the_least(items: list[tuple[int, int]]) -> None:
    queue = PriorityQueue(lambda item: item[0], items)
    taken = [queue.take() for _ in range(len(queue))]
    assert [each[0] for each in taken] == sorted(each[0] for each in items)
    assert sorted(taken) == sorted(items)


@st.composite
def assigned(draw: st.DrawFn, standbys: int = 0) -> tuple[TaskGroupSpec, dict[str, TaskTuple]]:
    """A group of unequal processes, and what it was assigned."""
    tasks = {str(n): count for n, count in enumerate(draw(st.lists(st.integers(1, 8), min_size=1, max_size=4)))}
    threads = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    names = [
        (f"process-{number}", f"member-{number}-{thread}") for number, n in enumerate(threads) for thread in range(n)
    ]
    spec = TaskGroupSpec({name: TaskMemberSpec(process) for process, name in names}, tasks, frozenset(tasks), standbys)
    return spec, assign_sticky(spec)


def again(spec: TaskGroupSpec, held: dict[str, TaskTuple], members: dict[str, str]) -> dict[str, TaskTuple]:
    """The assignment to members, by id with their processes, who have what they had."""
    known = {each: TaskMemberSpec(process, *held.get(each, TaskTuple())[:2]) for each, process in members.items()}
    return assign_sticky(TaskGroupSpec(known, spec.tasks, spec.stateful, spec.standby_replicas))


def by_process(spec: TaskGroupSpec, found: dict[str, TaskTuple]) -> dict[str, tuple[set[Task], set[Task]]]:
    """Each process's active and standby tasks."""
    processes: dict[str, tuple[set[Task], set[Task]]] = {}
    for member_id, tasks in found.items():
        active, standby = processes.setdefault(spec.members[member_id].process_id, (set(), set()))
        active |= tasks.active
        standby |= tasks.standby
    return processes


@given(assigned())
def test_processes_have_tasks_by_the_number_of_their_members(made: tuple[TaskGroupSpec, dict[str, TaskTuple]]) -> None:
    """No process could hand a task to another one and be as loaded as that was before."""
    spec, found = made
    threads: dict[str, int] = {}
    for each in spec.members.values():
        threads[each.process_id] = threads.get(each.process_id, 0) + 1
    counts = {process: len(active) for process, (active, _) in by_process(spec, found).items()}
    for one, own in counts.items():
        for other, theirs in counts.items():
            assert (own - 1) / threads[one] <= (theirs + 1) / threads[other]


@given(assigned(standbys=1))
def test_nothing_moves_without_a_reason(made: tuple[TaskGroupSpec, dict[str, TaskTuple]]) -> None:
    """Of active tasks, nothing at all; standby tasks stay with their processes."""
    spec, found = made
    then = again(spec, found, {name: each.process_id for name, each in spec.members.items()})
    assert {name: tasks.active for name, tasks in then.items()} == {name: tasks.active for name, tasks in found.items()}


@given(assigned(), st.data())
def test_a_process_that_goes_moves_only_what_it_had(
    made: tuple[TaskGroupSpec, dict[str, TaskTuple]], data: st.DataObject
) -> None:
    spec, found = made
    gone = data.draw(st.sampled_from(sorted({each.process_id for each in spec.members.values()})))
    left = {name: each.process_id for name, each in spec.members.items() if each.process_id != gone}
    then = by_process(spec, again(spec, found, left))
    for process, (active, _) in by_process(spec, found).items():
        if process != gone:
            assert active <= then[process][0]


@given(assigned(), st.integers(1, 3))
def test_a_process_that_comes_takes_no_more_than_its_share(
    made: tuple[TaskGroupSpec, dict[str, TaskTuple]], threads: int
) -> None:
    """What moves goes to the new process, and nowhere else."""
    spec, found = made
    members = {name: each.process_id for name, each in spec.members.items()} | {
        f"new-{n}": "new" for n in range(threads)
    }
    then = again(spec, found, members)
    moved = {name: tasks.active - found[name].active for name, tasks in then.items() if name in found}
    total = sum(spec.tasks.values())
    assert sum(map(len, moved.values())) == 0
    assert (
        sum(len(tasks.active) for name, tasks in then.items() if name not in found)
        <= total * threads // len(members) + threads
    )
