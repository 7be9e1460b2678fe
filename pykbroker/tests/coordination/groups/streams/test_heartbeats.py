"""Members of a streams group join, share tasks, leave, and go on after a restart."""

from __future__ import annotations

import random

import pytest

from pykbroker.controller.topics import NewPartitions
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.streams_groups import (
    CHANGELOG,
    INPUT,
    REPARTITION,
    STREAMS_GROUP,
    StreamsCluster,
    StreamsThread,
    settle,
)
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.list_groups import ListGroupsRequest

ALL = {(subtopology, index) for subtopology in "01" for index in range(3)}
STATEFUL = {each for each in ALL if each[0] == "1"}


def test_the_first_member_has_the_internal_topics_made_and_gets_all_tasks() -> None:
    world = StreamsCluster()
    thread = StreamsThread(world, "a")
    answer = thread.beat()
    assert [each.status_code for each in answer.status] == [3]
    assert thread.active == frozenset()
    image = world.cluster.metadata.image
    assert [len(image.topics[name].partitions) for name in (REPARTITION, CHANGELOG)] == [3, 3]
    assert image.config(TOPIC_RESOURCE, CHANGELOG) == {"cleanup.policy": "compact"}
    settle(thread)
    assert thread.active == ALL


def test_tasks_are_given_up_before_another_member_gets_them() -> None:
    world = StreamsCluster()
    first, second = StreamsThread(world, "a"), StreamsThread(world, "b")
    settle(first)
    second.beat()
    assert second.active == frozenset()
    first.beat()
    assert len(first.active) == 3
    second.beat()
    assert second.active == frozenset()  # the first has not said yet that it gave them up
    first.beat()
    second.beat()
    assert second.active | first.active == ALL
    assert not second.active & first.active


def test_standby_tasks_are_in_another_process() -> None:
    world = StreamsCluster(standbys=1)
    threads = [StreamsThread(world, "a1", "a"), StreamsThread(world, "a2", "a"), StreamsThread(world, "b1", "b")]
    settle(*threads)
    in_a = threads[0].active | threads[1].active
    assert threads[2].standby == in_a & STATEFUL
    assert threads[0].standby | threads[1].standby == threads[2].active & STATEFUL


def test_a_heartbeat_between_changes_looks_at_no_topic_and_no_other_member(monkeypatch: pytest.MonkeyPatch) -> None:
    world = StreamsCluster()
    threads = [StreamsThread(world, name) for name in "abc"]
    settle(*threads)

    def none(*_: object) -> None:
        raise AssertionError("nothing has changed")

    for name in ("metadata_hash", "configure", "assign", "reconcile"):
        monkeypatch.setattr(f"pykbroker.coordination.groups.streams.heartbeats.{name}", none)
    for each in threads:
        assert each.beat().error_code == 0


def test_internal_topics_do_not_fit_a_larger_input() -> None:
    world = StreamsCluster()
    thread = StreamsThread(world, "a")
    settle(thread)
    world.cluster.controller.create_partitions([NewPartitions(INPUT, 4)])
    world.settle()
    answer = thread.beat()
    assert [each.status_code for each in answer.status] == [2]  # the internal topics have three
    assert world.described().group_state == "NotReady"


def test_members_go_on_with_their_epochs_after_a_kill() -> None:
    world = StreamsCluster(standbys=1)
    threads = [StreamsThread(world, name) for name in "ab"]
    settle(*threads)
    before = world.written()
    world.restart(kill=True)
    assert world.written() == before
    for each in threads:
        answer = each.beat()
        assert (answer.error_code, answer.active_tasks, answer.member_epoch) == (0, None, each.epoch)


def test_a_member_that_is_silent_loses_its_tasks() -> None:
    world = StreamsCluster()
    first, second = StreamsThread(world, "a"), StreamsThread(world, "b")
    settle(first, second)
    world.advance(30_000)
    first.beat()
    world.advance(30_000)
    settle(first)
    assert first.active == ALL
    assert second.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_gives_nothing_up_is_fenced_after_the_rebalance_timeout() -> None:
    world = StreamsCluster()
    first, second = StreamsThread(world, "a"), StreamsThread(world, "b")
    settle(first)
    second.beat()
    kept = first.reported()
    assert first.ask(**kept).error_code == 0
    for _ in range(4):
        world.advance(10_000)
        answer = first.ask(**kept)
        second.beat()
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    settle(second)
    assert second.active == ALL


def test_the_first_assignment_waits_for_further_members_once() -> None:
    world = StreamsCluster()
    world.configure("streams.initial.rebalance.delay.ms", "1000")
    first, second = StreamsThread(world, "a"), StreamsThread(world, "b")
    assert [each.status_code for each in first.beat().status] == [5, 3]
    world.advance(900)
    second.beat()
    assert not world.described().members[0].target_assignment.active_tasks
    world.advance(100)
    settle(first, second)
    assert len(first.active) == len(second.active) == 3


def test_a_deleted_group_leaves_nothing() -> None:
    world = StreamsCluster()
    thread = StreamsThread(world, "a")
    settle(thread)
    delete = DeleteGroupsRequest([STREAMS_GROUP])
    broker = world.coordinator(STREAMS_GROUP)
    assert world.ask(delete, 2, broker=broker).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    thread.leave()
    assert world.ask(delete, 2, broker=broker).results[0].error_code == 0
    for _ in range(2):
        assert world.ask(ListGroupsRequest(), 5, broker=world.coordinator(STREAMS_GROUP)).groups == []
        world.restart(kill=True)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_random_lives(seed: int) -> None:
    """Members come, are killed, leave and heartbeat in any order, over restarts and changed settings. No task is ever active in two
    places, and once all are heard each is active once, its standbys are in other processes, and the log holds what is described.
    """
    source = random.Random(seed)
    world = StreamsCluster(standbys=source.randrange(3))
    threads = [StreamsThread(world, f"m{n}", f"p{n % source.randint(1, 4)}") for n in range(source.randint(1, 5))]
    for _ in range(60):
        act, thread = source.random(), source.choice(threads)
        if act < 0.75:
            answer = thread.beat()
            if answer.error_code:
                assert answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH), answer
                thread.lose_all()
        elif act < 0.8 and thread.epoch > 0:
            thread.leave()
        elif act < 0.85:
            thread.name = f"{thread.name}'"  # its process was killed and started again
            thread.lose_all()
        elif act < 0.9:
            world.advance(source.choice([1000, 20_000, 46_000]))
        elif act < 0.95:
            world.configure("streams.num.standby.replicas", str(source.randrange(3)))
        else:
            world.restart(kill=source.random() < 0.5)
        known = world.member_ids()  # one that is given up may not have heard of it; its commits are refused
        active = [task for each in threads if each.name in known for task in each.active]
        assert len(active) == len(set(active))
    world.advance(120_000)
    for each in threads:
        each.lose_all()
    settle(*threads)
    _check_complete(world, threads)
    before = world.written()
    world.restart(kill=True)
    assert world.written() == before


def _check_complete(world: StreamsCluster, threads: list[StreamsThread]) -> None:
    active = [task for each in threads for task in each.active]
    assert sorted(active) == sorted(ALL)
    of_process: dict[str, list[tuple[str, int]]] = {}
    for each in threads:
        of_process.setdefault(each.process, []).extend([*each.active, *each.standby])
    for tasks in of_process.values():
        assert len(tasks) == len(set(tasks))
    wanted = min(
        int(world.cluster.metadata.image.config(32, STREAMS_GROUP)["streams.num.standby.replicas"]), len(of_process) - 1
    )
    standby = [task for each in threads for task in each.standby]
    assert sorted(standby) == sorted([*STATEFUL] * wanted)
