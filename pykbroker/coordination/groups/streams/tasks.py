"""Tasks of a Kafka Streams application, and who has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

#: A subtopology's id, and a partition of its input.
Task = tuple[str, int]
Tasks = frozenset[Task]

NO_TASKS: Tasks = frozenset()


class TaskTuple(NamedTuple):
    """Tasks by their role, of a target or as a member reports them."""

    active: Tasks = NO_TASKS
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS


class OwnedTasks(NamedTuple):
    """Tasks of a member by their role; active ones with the epoch at which it got them."""

    active: Mapping[Task, int] = {}
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)


NO_TARGET = TaskTuple()
OWNS_NOTHING = OwnedTasks()


class NamedTasks(Protocol):
    """``TaskIds`` of requests and records."""

    subtopology_id: str
    partitions: list[int]


def tasks_of(named: Iterable[NamedTasks]) -> Tasks:
    """The tasks that a request or a record names."""
    return frozenset((each.subtopology_id, partition) for each in named for partition in each.partitions)


def by_subtopology(tasks: Iterable[Task]) -> Iterator[tuple[str, list[int]]]:
    """Subtopologies in order, each with its partitions in order."""
    found: dict[str, list[int]] = {}
    for subtopology, partition in sorted(tasks):
        found.setdefault(subtopology, []).append(partition)
    return iter(found.items())
