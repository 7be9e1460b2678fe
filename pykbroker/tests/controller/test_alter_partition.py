"""AlterPartition: every refusal, in Kafka's order, and what is the answer of a change."""

from __future__ import annotations

import pytest

from pykbroker.controller.controller import Controller
from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.metadata import make_controller, make_replicating_controller, own_registration
from pykbroker.tests.kit.serialising_port import serialising
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)


@pytest.fixture
def controller() -> Controller:
    """A partition on brokers 1 to 3 of four, led by broker 1; broker 4 is fenced."""
    controller = make_replicating_controller(4)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2, 3])])])
    controller.fence_broker(4)
    return controller


def asked(controller, members=((1, -1), (2, -1)), *, broker=1, epochs=(0, 0), index=0, topic_id=None, state=0):
    """The result for one partition; ``epochs`` are those of the leader and of the partition."""
    wanted = AlterPartitionRequestPartitionData(
        partition_index=index,
        leader_epoch=epochs[0],
        new_isr_with_epochs=[BrokerState(*member) for member in members],
        leader_recovery_state=state,
        partition_epoch=epochs[1],
    )
    topic = AlterPartitionRequestTopicData(topic_id or controller.image.topics["t"].id, [wanted])
    request = AlterPartitionRequest(broker, controller.image.brokers[broker].epoch, [topic])
    return serialising(controller).alter_partition(request).value.topics[0].partitions[0]


def test_a_change_is_answered_with_the_new_state(controller: Controller) -> None:
    answer = asked(controller)
    assert (answer.error_code, answer.leader_id, answer.isr) == (0, 1, [1, 2])
    assert (answer.leader_epoch, answer.partition_epoch, answer.leader_recovery_state) == (0, 1, 0)
    assert controller.image.partition("t", 0).isr == [1, 2]


def test_no_change_is_answered_with_the_present_state_and_writes_nothing(controller: Controller) -> None:
    end = controller.log.end_offset
    answer = asked(controller, [(1, -1), (2, -1), (3, -1)])
    assert (answer.error_code, answer.isr, answer.partition_epoch) == (0, [1, 2, 3], 0)
    assert controller.log.end_offset == end


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (ErrorCode.UNKNOWN_TOPIC_ID, {"topic_id": b"?" * 16}),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {"index": 7}),
        (ErrorCode.NOT_CONTROLLER, {"epochs": (1, 0)}),
        (ErrorCode.NOT_CONTROLLER, {"epochs": (0, 1)}),
        (ErrorCode.NOT_CONTROLLER, {"epochs": (-1, 1)}),
        (ErrorCode.FENCED_LEADER_EPOCH, {"epochs": (-1, 0)}),
        (ErrorCode.INVALID_REQUEST, {"broker": 2}),
        (ErrorCode.INVALID_REQUEST, {"broker": 2, "epochs": (0, -1)}),
        (ErrorCode.INVALID_UPDATE_VERSION, {"epochs": (0, -1)}),
        (ErrorCode.INVALID_REQUEST, {"members": [(1, -1), (4, -1)]}),
        (ErrorCode.INVALID_REQUEST, {"members": [(1, -1), (1, -1)]}),
        (ErrorCode.INVALID_REQUEST, {"members": [(2, -1), (3, -1)]}),
        (ErrorCode.INVALID_REQUEST, {"members": []}),
        (ErrorCode.INVALID_REQUEST, {"state": 1}),
        (ErrorCode.INVALID_REQUEST, {"state": 7}),
        (ErrorCode.INVALID_REQUEST, {"members": [(1, -1)], "state": 1}),
        (ErrorCode.INELIGIBLE_REPLICA, {"members": [(1, -1), (2, 10**9)]}),
    ],
)
def test_refusals(controller: Controller, error: ErrorCode, given: dict) -> None:
    before = controller.image.partition("t", 0)
    answer = asked(controller, **given)
    assert answer.error_code == error
    assert controller.image.partition("t", 0) is before


def test_a_replica_that_restarted_since_the_leader_saw_it_cannot_join(controller: Controller) -> None:
    stale = controller.image.brokers[2].epoch
    controller.fence_broker(2)
    away = controller.image.partition("t", 0)
    epochs = away.leader_epoch, away.partition_epoch
    assert asked(controller, [(1, -1), (3, -1), (2, stale)], epochs=epochs).error_code == ErrorCode.INELIGIBLE_REPLICA
    epoch = controller.start_broker(own_registration(2)).value
    assert asked(controller, [(1, -1), (3, -1), (2, stale)], epochs=epochs).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert asked(controller, [(1, -1), (3, -1), (2, epoch)], epochs=epochs).isr == [1, 3, 2]


def test_before_version_3_the_members_have_no_epochs(controller: Controller) -> None:
    wanted = AlterPartitionRequestPartitionData(new_isr=[1, 3])
    topic = AlterPartitionRequestTopicData(controller.image.topics["t"].id, [wanted])
    request = AlterPartitionRequest(1, controller.image.brokers[1].epoch, [topic])
    assert controller.alter_partition(request).value.topics[0].partitions[0].isr == [1, 3]


def test_a_fenced_broker_that_still_leads_by_its_own_view_is_refused(controller: Controller) -> None:
    epoch = controller.image.brokers[1].epoch
    controller.fence_broker(1)
    answer = asked(controller, [(1, -1)])
    assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH
    controller.start_broker(own_registration(1))
    topic = AlterPartitionRequestTopicData(controller.image.topics["t"].id, [AlterPartitionRequestPartitionData()])
    with pytest.raises(KafkaError) as raised:
        _ = controller.alter_partition(AlterPartitionRequest(1, epoch, [topic])).value
    assert raised.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_that_is_not_registered_is_refused_as_a_whole(controller: Controller) -> None:
    with pytest.raises(KafkaError, match="No broker registration found for broker id 9"):
        _ = controller.alter_partition(AlterPartitionRequest(9, 1)).value


def test_brokers_that_share_a_store_have_nothing_to_alter() -> None:
    with pytest.raises(KafkaError) as raised:
        _ = make_controller().alter_partition(AlterPartitionRequest(1, 1)).value
    assert raised.value.code == ErrorCode.INVALID_REQUEST
