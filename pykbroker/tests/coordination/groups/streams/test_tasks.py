"""Tasks that requests and records name: without a line for each, and what is read one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.coordination.groups.streams.checking import check_tasks
from pykbroker.coordination.groups.streams.heartbeats import _reported
from pykbroker.coordination.groups.streams.tasks import by_subtopology, tasks_of
from pykbroker.tests.kit.turns import counted
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.streams_group_heartbeat import TaskIds, TaskOffset

_NAMES = st.sampled_from(["0", "1", "10", "2"])
_NAMED = st.lists(st.builds(TaskIds, _NAMES, st.lists(st.integers(-1, 4), max_size=4)), max_size=6)
_OFFSETS = st.lists(st.builds(TaskOffset, _NAMES, st.integers(0, 2), st.integers(0, 9)), max_size=8)


@given(_NAMED)
def test_tasks_are_those_that_are_named(named: list[TaskIds]) -> None:
    tasks = tasks_of(named)
    assert tasks == {(each.subtopology_id, partition) for each in named for partition in each.partitions}
    shown = list(by_subtopology(tasks))
    assert [(name, partition) for name, partitions in shown for partition in partitions] == sorted(tasks)
    assert len({name for name, _ in shown}) == len(shown)


def _wrong_task(tasks: dict[str, int], named: list[TaskIds]) -> str | None:
    for each in named:
        if each.subtopology_id not in tasks:
            return f"Subtopology {each.subtopology_id} does not exist in the topology."
        for partition in each.partitions:
            if not 0 <= partition < tasks[each.subtopology_id]:
                return f"Task {partition} for subtopology {each.subtopology_id} is invalid."
    return None


@given(_NAMED, st.dictionaries(_NAMES, st.integers(1, 5)))
def test_the_first_task_that_the_application_lacks_is_refused(named: list[TaskIds], tasks: dict[str, int]) -> None:
    wrong = _wrong_task(tasks, named)
    try:
        check_tasks(tasks, named)
    except KafkaError as error:
        found = error.message
    else:
        found = None
    assert found == wrong or (found and wrong and found.startswith(wrong))


@given(_OFFSETS)
def test_the_first_offset_of_a_task_that_is_named_again_is_refused(offsets: list[TaskOffset]) -> None:
    seen: dict[tuple[str, int], int] = {}
    again = None
    for each in offsets:
        task = each.subtopology_id, each.partition
        if task in seen:
            again = task
            break
        seen[task] = each.offset
    if again is None:
        assert _reported(offsets) == seen
    else:
        with pytest.raises(KafkaError, match=f"subtopology {again[0]} and partition {again[1]}\\."):
            _reported(offsets)


def test_no_task_takes_a_line() -> None:
    named = [TaskIds(str(n), [0, 1]) for n in range(1000)]
    offsets = [TaskOffset(str(n), 0, 5) for n in range(1000)]
    with counted() as lines:
        tasks = tasks_of(named)
        check_tasks(dict.fromkeys(map(str, range(1000)), 2), named)
        found = _reported(offsets)
    assert (len(tasks), len(found)) == (2000, 1000)
    assert lines[0] < 100
