"""Consumer groups behind the coordinator's shell: restarts, timers, topics and settings of a real cluster."""

import pytest

from pykbroker.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import GroupCluster
from pykbroker.tests.kit.metadata import alter
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.list_groups import ListGroupsRequest


@pytest.fixture
def world() -> GroupCluster:
    made = GroupCluster()
    made.topic(partitions=2)
    return made


@pytest.mark.parametrize("kill", [False, True])
def test_a_restart_changes_nothing(world, kill):
    answer = world.enter()
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 2)
    before = world.described()
    assert before.group_state == "Stable"
    world.restart(kill=kill)
    assert world.described() == before
    assert world.beat("one", 2).assignment is None


def test_a_silent_member_is_fenced_by_a_timer(world):
    world.enter()
    world.advance(44_999)
    assert len(world.described().members) == 1
    world.advance(1)
    assert world.described().group_state == "Empty"


def test_a_member_from_before_the_restart_is_fenced_too(world):
    world.enter()
    world.restart()
    assert world.described().group_state == "Stable"
    world.advance(45_000)
    assert world.described().group_state == "Empty"


def test_topics_that_come_are_assigned(world):
    world.enter("one", "t", "later")
    topic_id = world.topic("later", 1)
    world.advance(1_000)
    answer = world.beat("one", 2)
    assert answer.member_epoch == 3
    assert topic_id in [topic.topic_id for topic in answer.assignment.topic_partitions]


def test_topics_that_go_are_taken_away(world):
    world.enter()
    world.delete_topic("t")
    world.advance(1_000)
    assert world.beat("one", 2, []).assignment.topic_partitions == []


def test_settings_altered_at_run_time_count(world):
    world.enter()
    image = world.cluster.metadata.image
    alter(world.cluster.controller, BROKER_RESOURCE, "", group_consumer_assignment_interval_ms="7000")
    alter(world.cluster.controller, GROUP_RESOURCE, GROUP, consumer_heartbeat_interval_ms="6000")
    assert image.config(GROUP_RESOURCE, GROUP)
    world.enter("two")
    assert world.beat("one", 2).heartbeat_interval_ms == 6_000
    world.advance(6_999)
    world.beat("two", 2)
    assert world.described().assignment_epoch == 2
    world.advance(1)
    world.beat("two", 2)
    assert world.described().assignment_epoch == 3


def test_another_broker_is_not_the_coordinator():
    world = GroupCluster(brokers=2)
    world.topic()
    other = 3 - world.coordinator(GROUP)
    assert world.enter(broker=other).error_code == ErrorCode.NOT_COORDINATOR
    assert world.enter().error_code == ErrorCode.NONE


def test_the_protocol_can_be_switched_off():
    world = GroupCluster(group_coordinator_rebalance_protocols="classic")
    assert world.enter().error_code == ErrorCode.UNSUPPORTED_VERSION
    assert world.described().error_code == ErrorCode.UNSUPPORTED_VERSION


def test_groups_are_listed_by_state_and_type(world):
    world.enter()
    for filters, count in (
        ({}, 1),
        ({"types_filter": ["Consumer"]}, 1),
        ({"types_filter": ["classic"]}, 0),
        ({"states_filter": ["stable"]}, 1),
        ({"states_filter": ["Empty"]}, 0),
    ):
        assert len(world.ask(ListGroupsRequest(**filters), 5).groups) == count
