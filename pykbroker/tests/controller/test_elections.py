"""Elections: the preferred leader where it can lead, and the reasons why not."""

from __future__ import annotations

import pytest

from pykbroker.controller.elections import ElectionType, election_type, plan_election
from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.metadata import make_controller, registration
from pykbroker.wire.errors import ErrorCode, KafkaError


@pytest.fixture
def controller():
    """Broker 1 was away for a while: its partition is led by broker 2."""
    controller = make_controller(2)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2])])])
    controller.fence_broker(1)
    return controller


def refusal(controller, kind=ElectionType.PREFERRED, topic="t", index=0):
    with pytest.raises(KafkaError) as raised:
        plan_election(controller.image, kind, topic, index)
    return raised.value.code, raised.value.message


def test_the_preferred_leader_takes_over(controller):
    controller.start_broker(registration(1))
    controller.commit([plan_election(controller.image, ElectionType.PREFERRED, "t", 0)])
    partition = controller.image.partition("t", 0)
    assert (partition.leader, partition.leader_epoch) == (1, 2)
    assert refusal(controller)[0] == ErrorCode.ELECTION_NOT_NEEDED


def test_a_preferred_leader_that_is_away(controller):
    assert refusal(controller)[0] == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_an_unclean_election_is_not_needed_or_finds_nobody(controller):
    assert refusal(controller, ElectionType.UNCLEAN)[0] == ErrorCode.ELECTION_NOT_NEEDED
    controller.fence_broker(2)
    assert refusal(controller, ElectionType.UNCLEAN)[0] == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert refusal(controller)[0] == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_what_is_not_there(controller):
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(controller, topic="x") == (unknown, "No such topic as x")
    assert refusal(controller, index=7) == (unknown, "No such partition as t-7")


def test_a_leader_of_ones_choice(controller):
    controller.start_broker(registration(1))
    assert controller.move_leader("t", 0, 1).value is None
    moved = controller.image.partition("t", 0)
    assert (moved.leader, moved.leader_epoch, moved.replicas) == (1, 2, [1, 2])
    controller.move_leader("t", 0, 1)
    assert controller.image.partition("t", 0).leader_epoch == 2


@pytest.mark.parametrize(
    ("topic", "index", "broker", "code"),
    [
        ("x", 0, 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 7, 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 0, 1, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        ("t", 0, 9, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
def test_a_leader_that_cannot_be_had(controller, topic, index, broker, code):
    with pytest.raises(KafkaError) as raised:
        _ = controller.move_leader(topic, index, broker).value
    assert raised.value.code is code
    assert controller.image.partition("t", 0).leader == 2


def test_election_types():
    assert [election_type(code) for code in (0, 1)] == [ElectionType.PREFERRED, ElectionType.UNCLEAN]
    with pytest.raises(KafkaError, match="Unknown election type 2"):
        election_type(2)
