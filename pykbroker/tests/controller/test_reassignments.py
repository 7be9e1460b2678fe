"""Partitions move: at once to living brokers, later to one that is stopped. The expected states are Apache Kafka's."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.controller.reassignments import ongoing_reassignments, plan_reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.metadata import LOG_DIR, make_controller, records_in, registration, replayed
from pykbroker.wire.errors import ErrorCode, KafkaError


@pytest.fixture
def controller():
    controller = make_controller(3)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [1]), (1, [2])])])
    return controller


def move(controller, index, replicas, **options):
    record = plan_reassignment(controller.image, "t", index, replicas, **options)
    controller.commit([] if record is None else [record])
    return state(controller, index)


def state(controller, index=0):
    """Replicas, ISR, leader, leader epoch."""
    partition = controller.image.partition("t", index)
    return partition.replicas, partition.isr, partition.leader, partition.leader_epoch


def under_way(controller):
    return [
        (topic.name, p.index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic, p in ongoing_reassignments(controller.image)
    ]


def refused(controller, index, replicas, *, topic="t", **options):
    with pytest.raises(KafkaError) as raised:
        plan_reassignment(controller.image, topic, index, replicas, **options)
    return raised.value.code, raised.value.message


def test_moves_to_living_brokers_are_complete_at_once(controller):
    assert move(controller, 0, [2]) == ([2], [2], 2, 1)
    assert move(controller, 0, [1, 2]) == ([1, 2], [1, 2], 2, 1)
    assert move(controller, 0, [2, 1])[0] == [2, 1]
    assert move(controller, 0, [1]) == ([1], [1], 1, 2)
    assert move(controller, 0, [2, 3]) == ([2, 3], [2, 3], 2, 3)
    assert under_way(controller) == []


def test_a_smaller_set_starts_a_new_epoch_though_the_leader_stays(controller):
    move(controller, 0, [1, 2, 3])
    assert move(controller, 0, [1, 3]) == ([1, 3], [1, 3], 1, 1)


def test_every_replica_has_its_directory(controller):
    move(controller, 0, [3, 2, 1])
    assert controller.image.partition("t", 0).directories == [LOG_DIR] * 3


def test_a_move_to_where_it_is_writes_nothing(controller):
    assert plan_reassignment(controller.image, "t", 0, [1]) is None


def test_a_move_to_a_stopped_broker_waits_for_it(controller):
    controller.fence_broker(2)
    assert move(controller, 0, [2]) == ([2, 1], [1], 1, 0)
    assert under_way(controller) == [("t", 0, [2, 1], [2], [1])]
    assert plan_reassignment(controller.image, "t", 0, [2]) is None
    controller.start_broker(registration(2))
    assert state(controller) == ([2], [2], 2, 1)
    assert under_way(controller) == []


def test_a_growing_move_waits_too(controller):
    controller.fence_broker(3)
    assert move(controller, 0, [1, 2, 3]) == ([1, 2, 3], [1, 2], 1, 0)
    assert under_way(controller) == [("t", 0, [1, 2, 3], [2, 3], [])]
    controller.start_broker(registration(3))
    assert state(controller) == ([1, 2, 3], [1, 2, 3], 1, 0)
    assert under_way(controller) == []


def test_a_move_under_way_can_be_changed_or_taken_back(controller):
    controller.fence_broker(2)
    move(controller, 0, [2])
    assert move(controller, 0, None) == ([1], [1], 1, 1)
    assert under_way(controller) == []
    move(controller, 0, [2])
    assert move(controller, 0, [3]) == ([3], [3], 3, 2)
    assert under_way(controller) == []


def test_a_move_that_took_the_leadership_over_cannot_be_taken_back(controller):
    controller.fence_broker(2)
    controller.fence_broker(3)
    assert move(controller, 1, [1, 3]) == ([1, 3, 2], [1], 1, 2)
    assert refused(controller, 1, None) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "Unable to revert partition assignment for t:1 because it would require an unclean leader election.",
    )


def test_a_leaderless_partition_finds_a_leader_elsewhere(controller):
    controller.fence_broker(2)
    assert state(controller, 1) == ([2], [2], -1, 1)
    assert move(controller, 1, [1]) == ([1], [1], 1, 2)


def test_what_is_refused(controller):
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(controller, 0, [1], topic="x") == (unknown, "Unable to find a topic named x.")
    assert refused(controller, 9, [1]) == (unknown, "Unable to find partition t:9.")
    assert refused(controller, 0, None)[0] == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    for replicas, fault in (
        ([], "an empty replica list."),
        ([1, 9], "broker 9, but no such broker is registered."),
        ([1, 1], "the broker 1 more than once."),
    ):
        assert refused(controller, 0, replicas) == (
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"The manual partition assignment includes {fault}",
        )


def test_the_replication_factor_can_be_held(controller):
    assert move(controller, 0, [2], same_factor=True)[0] == [2]
    assert refused(controller, 0, [1, 2], same_factor=True) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "The replication factor is changed from 1 to 2",
    )
    controller.fence_broker(3)
    move(controller, 0, [2, 3])
    assert refused(controller, 0, [2], same_factor=True)[1] == "The replication factor is changed from 2 to 1"


@given(
    st.lists(
        st.one_of(
            st.sampled_from([list(p) for n in (1, 2, 3) for p in itertools.permutations((1, 2, 3), n)]),
            st.sampled_from(["fence", "unfence"]).flatmap(lambda what: st.tuples(st.just(what), st.integers(1, 3))),
            st.none(),
        ),
        max_size=12,
    )
)
def test_any_order_of_moves_and_stops_ends_where_it_was_told(steps):
    """Whatever happens, a living leader is in sync; and once all brokers live, the last move is done."""
    controller = make_controller(3)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [1])])])
    target = {1}
    for step in steps:
        if isinstance(step, tuple):
            if step[0] == "fence":
                controller.fence_broker(step[1])
            else:
                controller.start_broker(registration(step[1]))
        else:
            try:
                move(controller, 0, step)
            except KafkaError:
                continue
            target = set(step) if step is not None else set(controller.image.partition("t", 0).replicas)
        partition = controller.image.partition("t", 0)
        alive = {broker.id for broker in controller.image.active_brokers()}
        assert partition.leader == -1 or partition.leader in alive & set(partition.isr)
        assert partition.leader != -1 or not alive & set(partition.replicas)
        assert set(partition.isr) <= set(partition.replicas)
        assert len(partition.directories) == len(partition.replicas)
    for broker_id in (1, 2, 3):
        controller.start_broker(registration(broker_id))
    partition = controller.image.partition("t", 0)
    assert set(partition.replicas) == set(partition.isr) == target
    assert list(ongoing_reassignments(controller.image)) == []
    assert replayed(records_in(controller.log)).topics == controller.image.topics
