"""The stories notice each rule of share and streams groups that is off: stories that do not would say nothing about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pytest

from pykbroker.coordination.groups.streams import sticky
from pykbroker.coordination.groups.streams.deadlines import StreamsDeadlines
from pykbroker.coordination.groups.streams.reconciling import _Step
from pykbroker.coordination.groups.streams.sticky import TaskGroupSpec, assign_sticky
from pykbroker.coordination.groups.streams.tasks import TaskTuple
from pykbroker.coordination.share.state import StateBatch
from pykbroker.share_partitions import share_partition
from pykbroker.share_partitions.acquiring import Acquisition
from pykbroker.share_partitions.dead_letters.writing import DeadLetters
from pykbroker.share_partitions.in_flight import Run
from pykbroker.share_partitions.leading import LedSharePartition
from pykbroker.share_partitions.states import RecordState
from pykbroker.tests.simulation.story import Story

pytestmark = pytest.mark.deep

#: Stories of which one must notice it.
MOST = 12


def is_there(run: Run) -> bool:
    """Also what another member has."""
    return run.state in (RecordState.AVAILABLE, RecordState.ACQUIRED) and run.change is None


def is_passed(run: Run) -> bool:
    """Also what was released."""
    return run.change is None and (run.state.is_final or (run.state is RecordState.AVAILABLE and run.count > 1))


def taken_uncounted(acquisition: Acquisition, run: Run) -> None:
    run.state, run.member, run.deadline = RecordState.ACQUIRED, acquisition._request.member, acquisition._deadline
    acquisition._note(run.first, run.last, run.count)


def written_twice(write: Callable[..., Any]) -> Callable[..., Any]:
    def twice(self: DeadLetters, source: Any, given_up: Any, since_ms: Any = None) -> Any:
        return write(self, source, given_up, since_ms).chain(lambda _: write(self, source, given_up, None))

    return twice


def restored_uncounted(start_offset: int, state: Iterable[StateBatch]) -> Iterator[Run]:
    for run in restored(start_offset, state):
        if run.state is RecordState.AVAILABLE:
            run.count = 0
        yield run


restored = share_partition._restored


def without_one(spec: TaskGroupSpec) -> dict[str, TaskTuple]:
    """All tasks but one."""
    return {member: given._replace(active=given.active - {("1", 0)}) for member, given in assign_sticky(spec).items()}


#: Rules of a share group, each with what takes its place.
RULES: dict[str, tuple[Any, str, Any]] = {
    "a record has one member within its lock": (Run, "is_available", property(is_there)),
    "the start passes nothing that is to be delivered again": (Run, "is_final", property(is_passed)),
    "deliveries are counted": (Acquisition, "_take", taken_uncounted),
    "a letter is written once": (DeadLetters, "write", written_twice(DeadLetters.write)),
    "locks end": (LedSharePartition, "_arm", lambda self: None),
    "what was released is counted in the next life": (share_partition, "_restored", restored_uncounted),
}
#: Rules of a streams group.
RULES_OF_STREAMS: dict[str, tuple[Any, str, Any]] = {
    "a task is given back before another takes it": (_Step, "_taken_of_active", lambda self, tasks: frozenset()),
    "sessions end": (StreamsDeadlines, "restart_session", lambda self, member_id, timeout_ms: None),
    "each task is assigned": (sticky, "assign_sticky", without_one),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_share_groups_that_is_off_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, other = RULES[rule]
    monkeypatch.setattr(owner, name, other)
    stories = islice((story for story in map(Story, range(1, 1000)) if story.sharing is not None), MOST)
    assert any(map(is_noticed, stories))


@pytest.mark.parametrize("rule", RULES_OF_STREAMS)
def test_a_rule_of_streams_groups_that_is_off_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, other = RULES_OF_STREAMS[rule]
    monkeypatch.setattr(owner, name, other)
    stories = islice((story for story in map(Story, range(1, 1000)) if story.streaming is not None), MOST)
    assert any(map(is_noticed, stories))


def is_noticed(story: Story) -> bool:
    try:
        story.tell()
    except AssertionError:
        return True
    return False
