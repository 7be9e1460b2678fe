"""Tasks of a Kafka Streams application, and who has them.

A stranger may report as many as a frame holds, and a subtopology may have thousands: none takes a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby, repeat
from operator import attrgetter, itemgetter
from typing import NamedTuple, Protocol

#: A subtopology's id, and a partition of its input.
Task = tuple[str, int]
Tasks = frozenset[Task]

NO_TASKS: Tasks = frozenset()
_SUBTOPOLOGY, _PARTITION = itemgetter(0), itemgetter(1)


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
    named = [*named]
    ids = map(repeat, map(attrgetter("subtopology_id"), named))
    return frozenset(chain.from_iterable(map(zip, ids, map(attrgetter("partitions"), named))))


def subtopologies_of(tasks: Iterable[Task]) -> int:
    """How many subtopologies the tasks belong to."""
    return len({*map(_SUBTOPOLOGY, tasks)})


def by_subtopology(tasks: Iterable[Task]) -> Iterator[tuple[str, list[int]]]:
    """Subtopologies in order, each with its partitions in order."""
    for subtopology, some in groupby(sorted(tasks), _SUBTOPOLOGY):
        yield subtopology, [*map(_PARTITION, some)]
