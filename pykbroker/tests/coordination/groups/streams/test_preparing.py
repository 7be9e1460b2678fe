"""What a thread makes of a large topology is what the step would make of it, whatever happens meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.coordination.groups.streams import preparing, topology
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.coordination.groups.streams.test_heartbeats import test_random_lives as live
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.streams_groups import INPUT, STREAMS_GROUP, StreamsCluster, StreamsThread, settle
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology


@pytest.fixture(autouse=True)
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every topology is a large one."""
    monkeypatch.setattr(topology, "MANY_NAMES", -1)
    monkeypatch.setattr(preparing, "MANY_NAMES", -1)


@pytest.mark.parametrize("seed", range(100, 100 + examples(5)))
def test_random_lives_with_prepared_topologies(seed: int) -> None:
    live(seed)


def _post(thread: StreamsThread, **said: Any) -> Deferred[Any]:
    fields = {
        **thread.reported(),
        **(thread.joining() if thread.epoch == 0 else {}),
        "member_epoch": thread.epoch,
        **said,
    }
    request = StreamsGroupHeartbeatRequest(STREAMS_GROUP, thread.name, **fields)
    return thread.world.post(request, 1, broker=thread.world.coordinator(STREAMS_GROUP))


def _codes(answers: list[Deferred[Any]]) -> list[int]:
    return [answer.value.error_code for answer in answers]


def test_two_members_bring_the_first_topology_together_and_a_third_another() -> None:
    world = StreamsCluster()
    members = [StreamsThread(world, name) for name in "ab"]
    world.coordinator(STREAMS_GROUP)
    threads = world.hold_threads(reads=True)
    answers = [_post(each) for each in members]
    answers.append(_post(StreamsThread(world, "c"), topology=Topology(0, [Subtopology("0", [INPUT])])))
    assert not any(answer.done for answer in answers)
    assert len(threads) == 3
    threads.let_go()
    world.settle()
    assert _codes(answers) == [0, 0, ErrorCode.INVALID_REQUEST]
    assert world.member_ids() == {"a", "b"}
    settle(*members)
    before = world.written()
    world.restart(kill=True)
    assert world.written() == before


def test_topics_change_while_a_thread_looks_at_them() -> None:
    """It begins anew, and the answer is of the topics that there are."""
    world = StreamsCluster()
    world.coordinator(STREAMS_GROUP)
    threads = world.hold_threads(reads=True)
    answer = _post(StreamsThread(world, "a"), topology=Topology(0, [Subtopology("0", ["late"])]))
    threads.run_one()
    assert len(threads) == 1, "the topology is made, and its topics are looked at"
    world.create(NewTopic("late", 5, 1))
    threads.let_go()
    world.settle()
    assert (answer.value.error_code, answer.value.status) == (0, [])
    assert len(answer.value.active_tasks[0].partitions) == 5


def test_topics_that_change_each_time_are_looked_at_by_the_step_in_the_end() -> None:
    world = StreamsCluster()
    world.coordinator(STREAMS_GROUP)
    threads = world.hold_threads(reads=True)
    answer = _post(StreamsThread(world, "a"), topology=Topology(0, [Subtopology("0", ["late"])]))
    rounds = 0
    while not answer.done:
        threads.run_one()  # the topology
        rounds += 1
        if rounds == 1:
            world.create(NewTopic("late", rounds, 1))
        else:
            world.cluster.controller.create_partitions([NewPartitions("late", rounds)])
        world.settle()
        threads.run_one()  # its topics
        world.settle()
        assert rounds <= 10
    assert rounds == 10
    assert answer.value.error_code == 0
    assert len(answer.value.active_tasks[0].partitions) == 10
    threads.let_go()


@pytest.mark.parametrize(
    ("named", "code"),
    [
        (Topology(-1, [Subtopology("0", [INPUT])]), ErrorCode.UNKNOWN_SERVER_ERROR),
        (Topology(0, [Subtopology("0", [INPUT])] * 2), ErrorCode.UNKNOWN_SERVER_ERROR),
        (Topology(0, [Subtopology("0", [INPUT]), Subtopology("1")]), ErrorCode.STREAMS_INVALID_TOPOLOGY),
    ],
)
def test_what_a_thread_refuses_is_answered(named: Topology, code: ErrorCode) -> None:
    world = StreamsCluster()
    member = StreamsThread(world, "a")
    for _ in range(2):
        assert member.ask(**{**member.reported(), **member.joining(), "topology": named}).error_code == code
    assert member.beat().error_code == 0
