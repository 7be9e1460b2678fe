"""The sticky assignor of streams groups: tasks stay where their state is, and load is even over processes and their members.

Active tasks first go to the members that run them, then to those with a copy of their state (standby tasks, or offsets that they
reported), as long as these are below the average; what is left goes to the process with the least load. Standby tasks go to processes
that do not have the task yet. The result is that of Apache Kafka 4.4.0's StickyTaskAssignor, member by member: where processes or members
are equal, the order is that of Java's hash tables and of its priority queue.

Tags of racks do not change the assignment in 4.4.0: members without them are told so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pykbroker.coordination.groups.streams.tasks import NO_TARGET, NO_TASKS, Task, Tasks, TaskTuple
from pykbroker.metadata.java_maps import hash_of_text, in_map_order

T = TypeVar("T")


@dataclass(slots=True)
class TaskMemberSpec:
    """What the assignor knows of a member: its process, its present tasks, and the offsets of its state by task."""

    process_id: str
    active: Tasks = NO_TASKS
    standby: Tasks = NO_TASKS
    offsets: Mapping[Task, int] = field(default_factory=dict)


@dataclass(slots=True)
class TaskGroupSpec:
    """A group: members by id, the number of tasks of each subtopology, and the subtopologies with state."""

    members: Mapping[str, TaskMemberSpec]
    tasks: Mapping[str, int]
    stateful: frozenset[str] = frozenset()
    standby_replicas: int = 0


class TaskAssignmentFailed(ValueError):
    """No assignment can be made; the message is Kafka's."""


def assign_sticky(spec: TaskGroupSpec) -> dict[str, TaskTuple]:
    """The tasks of every member. Raises TaskAssignmentFailed if there are tasks and nobody for them."""
    assigning = _Assigning(spec)
    assigning.assign_active()
    if spec.standby_replicas > 0:
        assigning.assign_standby()
    return {member_id: assigning.tasks_of(member_id) for member_id in spec.members}


class PriorityQueue(Generic[T]):
    """The least first. Equal ones leave in the order of ``java.util.PriorityQueue``, which ``heapq`` does not have."""

    def __init__(self, key: Callable[[T], float], items: Iterable[T] = ()) -> None:
        self._key = key
        self._items: list[T] = []
        for item in items:
            self.put(item)

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        """Add an item."""
        items, key = self._items, self._key
        items.append(item)
        place, own = len(items) - 1, key(item)
        while place > 0:
            parent = (place - 1) >> 1
            if own >= key(items[parent]):
                break
            items[place] = items[parent]
            place = parent
        items[place] = item

    def take(self) -> T:
        """Remove the least; there must be one."""
        items, key = self._items, self._key
        first, last = items[0], items.pop()
        count, place, own = len(items), 0, key(last)
        while place < count >> 1:
            child = 2 * place + 1
            if child + 1 < count and key(items[child]) > key(items[child + 1]):
                child += 1
            if own <= key(items[child]):
                break
            items[place] = items[child]
            place = child
        if count:
            items[place] = last
        return first


class _Process:
    """A process with its members, and the tasks that they have so far."""

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.counts: dict[str, int] = {}
        self.tasks: set[Task] = set()
        self.load = 0.0
        self._total = 0
        #: Members by load, as lists of count and id; None after a member was chosen otherwise.
        self._by_load: PriorityQueue[list[int | str]] | None = None

    def add(self, member_id: str, task: Task) -> int:
        """Give a member a task; returns how many it has."""
        self._by_load = None
        return self._added(member_id, task)

    def _added(self, member_id: str, task: Task) -> int:
        self.tasks.add(task)
        self._total += 1
        self.load = self._total / len(self.counts)
        self.counts[member_id] += 1
        return self.counts[member_id]

    def least(self, task: Task) -> tuple[str, int]:
        """Give the member with the fewest tasks one more; returns it, and how many it has."""
        if self._by_load is None:
            members = in_map_order(self.counts, hash_of_text, at_least=16)
            self._by_load = PriorityQueue(_first, ([self.counts[each], each] for each in members))
        entry = self._by_load.take()
        member_id = str(entry[1])
        count = entry[0] = self._added(member_id, task)
        self._by_load.put(entry)
        return member_id, count


def _first(entry: list[int | str]) -> float:
    return float(entry[0])


class _Quota:
    """How many tasks a member may have: the average of what is left over those who are not full, rounded up."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = _average(tasks, members)

    def reached(self, count: int) -> None:
        """A member has got a task and now has so many."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = _average(self._tasks, self._members)


def _average(tasks: int, members: int) -> int:
    """Rounded up; Java's integer division rounds negative numbers towards zero."""
    if members == 0:
        return 0
    whole = int(tasks / members)
    return whole + (tasks - whole * members > 0)


class _Assigning:
    """One assignment under way."""

    def __init__(self, spec: TaskGroupSpec) -> None:
        self._spec = spec
        total = sum(spec.tasks.values())
        copies = sum(spec.tasks[each] for each in spec.stateful) * spec.standby_replicas
        self._active_quota = _Quota(total, len(spec.members))
        self._quota = _Quota(total + copies, len(spec.members))
        self._processes: dict[str, _Process] = {}
        self._ran: dict[Task, str] = {}
        candidates: dict[Task, list[tuple[bool, int, str]]] = {}
        self._order = in_map_order(spec.members, hash_of_text, at_least=16)
        for member_id in self._order:
            member = spec.members[member_id]
            process = self._processes.setdefault(member.process_id, _Process(member.process_id))
            process.counts[member_id] = 0
            self._ran |= dict.fromkeys(member.active, member_id)
            for task in member.standby:
                candidates.setdefault(task, []).append((False, -member.offsets.get(task, 0), member_id))
            for task, offset in member.offsets.items():
                if task not in member.standby:
                    candidates.setdefault(task, []).append((True, -offset, member_id))
        #: The members with a copy of a task's state, the best first.
        self._copies = {
            task: [member_id for _, _, member_id in sorted(found, key=lambda each: each[:2])]
            for task, found in candidates.items()
        }
        self._active: dict[str, set[Task]] = {}
        self._standby: dict[str, set[Task]] = {}

    def tasks_of(self, member_id: str) -> TaskTuple:
        active, standby = self._active.get(member_id, NO_TASKS), self._standby.get(member_id, NO_TASKS)
        return TaskTuple(frozenset(active), frozenset(standby)) if active or standby else NO_TARGET

    def assign_active(self) -> None:
        tasks = self._tasks(self._spec.tasks)
        tasks.sort(key=_partition_first)
        tasks = [task for task in tasks if not self._kept(task, self._ran.get(task))]
        tasks = [task for task in tasks if not self._kept(task, self._least_loaded(self._copies.get(task, ())))]
        tasks.sort()
        processes = self._by_load()
        for task in tasks:
            if not processes:
                raise TaskAssignmentFailed(f"No process available to assign active task {_text(task)}.")
            process = processes.take()
            member_id, count = process.least(task)
            self._active.setdefault(member_id, set()).add(task)
            self._reached(count)
            processes.put(process)

    def _tasks(self, subtopologies: Iterable[str]) -> list[Task]:
        return [(each, index) for each in subtopologies for index in range(self._spec.tasks[each])]

    def _by_load(self) -> PriorityQueue[_Process]:
        """The processes in the order of ``HashMap.computeIfAbsent``: it enlarges the table before it adds, and adds in front."""
        size = 1 << (len(self._spec.members) - 1).bit_length() if self._spec.members else 1
        while len(self._processes) - 1 > size * 3 // 4:
            size *= 2
        ordered = in_map_order(reversed(self._processes), hash_of_text, count=0, at_least=size)
        return PriorityQueue(lambda process: process.load, (self._processes[each] for each in ordered))

    def _process(self, member_id: str) -> _Process:
        return self._processes[self._spec.members[member_id].process_id]

    def _kept(self, task: Task, member_id: str | None) -> bool:
        """Whether an active task goes to this member, which is below the average."""
        if member_id is None or self._process(member_id).counts[member_id] >= self._active_quota.each:
            return False
        self._active.setdefault(member_id, set()).add(task)
        self._reached(self._process(member_id).add(member_id, task))
        return True

    def _reached(self, count: int) -> None:
        self._active_quota.reached(count)
        self._quota.reached(count)

    def _least_loaded(self, members: Iterable[str], standby: Task | None = None) -> str | None:
        """The first member, or a later one if it and its process have less load. With ``standby`` only of processes without it."""
        best: str | None = None
        least = (0.0, 0)
        for member_id in members:
            process = self._process(member_id)
            if standby is not None and standby in process.tasks:
                continue
            load, count = process.load, process.counts[member_id]
            if best is None or (load < least[0] and count < least[1]):
                best, least = member_id, (load, count)
        return best

    def assign_standby(self) -> None:
        tasks = self._tasks(each for each in self._spec.tasks if each in self._spec.stateful)
        tasks.sort(key=_partition_first, reverse=True)
        left: list[tuple[Task, int]] = []
        for task in tasks:
            for given in range(self._spec.standby_replicas):
                if not self._copied(task):
                    left.append((task, self._spec.standby_replicas - given))
                    break
        left.sort(key=lambda each: each[0], reverse=True)
        processes = self._by_load()
        for task, count in left:
            for _ in range(count):
                if not self._copied_anywhere(task, processes):
                    break

    def _copied(self, task: Task) -> bool:
        """Whether a standby task goes to the member that ran it, or to one with a copy of its state."""
        ran = self._ran.get(task)
        if ran is not None and task not in self._process(ran).tasks and self._is_below(ran):
            self._add_standby(ran, task)
            return True
        copy = self._least_loaded(self._copies.get(task, ()), task)
        if copy is not None and self._is_below(copy):
            self._add_standby(copy, task)
            return True
        return False

    def _is_below(self, member_id: str) -> bool:
        return self._process(member_id).counts[member_id] < self._quota.each

    def _add_standby(self, member_id: str, task: Task) -> None:
        self._standby.setdefault(member_id, set()).add(task)
        self._quota.reached(self._process(member_id).add(member_id, task))

    def _copied_anywhere(self, task: Task, processes: PriorityQueue[_Process]) -> bool:
        """Whether a standby task goes to the process with the least load of those without the task."""
        taken: list[_Process] = []
        found = False
        while processes and not found:
            process = processes.take()
            taken.append(process)
            if task not in process.tasks:
                member_id, count = process.least(task)
                self._standby.setdefault(member_id, set()).add(task)
                self._quota.reached(count)
                found = True
        for process in reversed(taken):
            processes.put(process)
        return found


def _partition_first(task: Task) -> tuple[int, str]:
    return task[1], task[0]


def _text(task: Task) -> str:
    return f"{task[0]}_{task[1]}"
