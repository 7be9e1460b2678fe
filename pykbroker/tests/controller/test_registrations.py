"""Brokers come and go: registrations, fencing, leaders and their epochs."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.metadata import make_controller, registration


def leaders(controller, topic="t"):
    return [(p.leader, sorted(p.isr), p.leader_epoch) for p in controller.image.topic(topic).in_order()]


@pytest.fixture
def controller():
    controller = make_controller(3)
    controller.create_topics(
        [NewTopic("t", -1, -1, [(0, [1, 2]), (1, [2, 3]), (2, [3, 1])]), NewTopic("single", -1, -1, [(0, [1])])]
    )
    return controller


def test_a_broker_epoch_is_the_offset_of_its_registration():
    controller = make_controller(0)
    end = controller.log.end_offset
    assert controller.start_brokers([registration(1), registration(2)]) == {1: end, 2: end + 1}
    assert [broker.epoch for broker in controller.image.active_brokers()] == [end, end + 1]


def test_a_fenced_brokers_partitions_move(controller):
    controller.fence_broker(1)
    assert leaders(controller) == [(2, [2], 1), (2, [2, 3], 0), (3, [3], 0)]
    assert leaders(controller, "single") == [(-1, [1], 1)]
    assert controller.image.controller_for_clients() == 2


def test_a_broker_that_returns_is_in_sync_and_leads_what_had_no_leader(controller):
    controller.fence_broker(1)
    controller.start_broker(registration(1))
    assert leaders(controller) == [(2, [1, 2], 1), (2, [2, 3], 0), (3, [1, 3], 0)]
    assert leaders(controller, "single") == [(1, [1], 2)]
    controller.elect_preferred_leaders()
    assert [leader for leader, _, _ in leaders(controller)] == [1, 2, 3]


def test_fencing_twice_is_once(controller):
    controller.fence_broker(1)
    offset = controller.image.offset
    controller.fence_broker(1)
    assert controller.image.offset == offset


def test_every_change_raises_the_partition_epoch(controller):
    before = controller.image.partition("t", 2)
    controller.fence_broker(1)
    after = controller.image.partition("t", 2)
    assert (before.partition_epoch, after.partition_epoch) == (0, 1)
    assert after is not before


def test_a_clean_restart_changes_no_leader(controller):
    before = leaders(controller)
    controller.stop_brokers()
    assert controller.image.active_brokers() == []
    controller.start_brokers([registration(i) for i in (1, 2, 3)])
    assert leaders(controller) == before


def test_an_unclean_restart_starts_new_leader_epochs(controller):
    controller.start_brokers([registration(i) for i in (1, 2, 3)], clean=False)
    assert leaders(controller) == [(1, [1, 2], 1), (2, [2, 3], 1), (3, [1, 3], 1)]


def test_brokers_that_do_not_start_again_are_fenced(controller):
    controller.start_brokers([registration(2)])
    assert [broker.id for broker in controller.image.active_brokers()] == [2]
    assert leaders(controller) == [(2, [2], 1), (2, [2], 0), (-1, [1, 3], 1)]


def test_a_broker_that_is_forgotten(controller):
    controller.unregister_broker(3)
    assert sorted(controller.image.brokers) == [1, 2]
    assert leaders(controller)[2] == (1, [1], 1)


def test_new_topics_avoid_fenced_brokers(controller):
    controller.fence_broker(2)
    (result,) = controller.create_topics([NewTopic("n", 4, 2)]).value.result
    assert result.error is None
    assert all(set(p.replicas) == {1, 3} for p in controller.image.topic("n").in_order())


def test_producer_ids_come_in_blocks_nobody_had(controller):
    blocks = [controller.allocate_producer_ids(broker_id).value for broker_id in (1, 2, 1)]
    assert blocks == [range(1000), range(1000, 2000), range(2000, 3000)]
