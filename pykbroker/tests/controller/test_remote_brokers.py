"""Brokers in other processes, by the requests that they will send: registration, heartbeats, log directories of replicas."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.controller.controller import Controller
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.features import SUPPORTED_RANGES
from pykbroker.metadata.ids import LOST, UNASSIGNED
from pykbroker.tests.kit.metadata import make_replicating_controller
from pykbroker.tests.kit.serialising_port import serialising
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages import assign_replicas_to_dirs as assigning
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

TIMEOUT_MS = 9000
DIRECTORY, SECOND = b"e" * 16, b"f" * 16


@pytest.fixture
def controller() -> Controller:
    """Broker 1 is in the controller's process; the others are not."""
    return make_replicating_controller(1)


def registration(broker: int = 4, incarnation: bytes = b"a" * 16, **given: Any) -> BrokerRegistrationRequest:
    features = [Feature(name, low, high) for name, (low, high) in SUPPORTED_RANGES.items()]
    request = BrokerRegistrationRequest(
        broker_id=broker,
        cluster_id="c",
        incarnation_id=incarnation,
        listeners=[Listener("PLAINTEXT", "h", 9092, 0)],
        features=features,
        log_dirs=[bytes([broker + 100]) * 16],
    )
    for name, value in given.items():
        setattr(request, name, value)
    return request


def register(controller: Controller, *args: Any, **given: Any) -> int:
    return serialising(controller).register_broker(registration(*args, **given), 4).value


def beat(controller: Controller, broker: int, epoch: int, offset: int = 10**6, **given: Any) -> tuple[bool, bool, bool]:
    """Whether it is caught up, fenced, and may stop."""
    answer = serialising(controller).broker_heartbeat(BrokerHeartbeatRequest(broker, epoch, offset, **given)).value
    return answer.is_caught_up, answer.is_fenced, answer.should_shut_down


def refusal(ask: Any, *args: Any, **given: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        ask(*args, **given)
    return raised.value.code


def test_a_life(controller: Controller) -> None:
    epoch = register(controller)
    assert controller.image.brokers[4].fenced
    assert beat(controller, 4, epoch, epoch - 1) == (False, True, False)
    assert beat(controller, 4, epoch, epoch) == (True, False, False)
    assert controller.image.brokers[4].active
    controller.create_topics([NewTopic("t", -1, -1, [(0, [4, 1])])])
    assert beat(controller, 4, epoch, want_shut_down=True) == (True, False, False)
    assert controller.image.brokers[4].in_controlled_shutdown
    assert controller.image.partition("t", 0).isr == [1]
    assert beat(controller, 4, epoch, want_shut_down=True) == (True, True, True)
    assert controller.image.brokers[4].fenced


def test_a_session_that_ends_moves_leaders(controller: Controller) -> None:
    epoch = register(controller)
    beat(controller, 4, epoch)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [4, 1])])])
    controller._clock.advance(TIMEOUT_MS)
    assert not controller.fence_stale_broker().value
    controller._clock.advance(100)
    assert controller.fence_stale_broker().value
    assert not controller.fence_stale_broker().value
    assert controller.image.brokers[4].fenced
    assert controller.image.partition("t", 0).leader == 1
    assert beat(controller, 4, epoch) == (True, False, False)


def refuse_writes(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> int:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    monkeypatch.setattr(controller.log, "append", refused)


def test_a_session_that_ends_while_nothing_can_be_written_ends_later(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat(controller, 4, register(controller))
    controller._clock.advance(TIMEOUT_MS + 100)
    refuse_writes(controller, monkeypatch)
    for _ in range(2):
        with pytest.raises(KafkaError):
            _ = controller.fence_stale_broker().value
    monkeypatch.undo()
    assert controller.fence_stale_broker().value
    assert controller.image.brokers[4].fenced
    assert not controller.fence_stale_broker().value


def test_a_broker_that_cannot_be_unregistered_keeps_its_session(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = register(controller)
    beat(controller, 4, epoch)
    refuse_writes(controller, monkeypatch)
    with pytest.raises(KafkaError):
        _ = controller.unregister_broker(4).value
    monkeypatch.undo()
    assert beat(controller, 4, epoch) == (True, False, False)
    _ = controller.unregister_broker(4).value
    assert refusal(beat, controller, 4, epoch) == ErrorCode.STALE_BROKER_EPOCH


def test_another_incarnation_waits_for_the_end_of_the_session(controller: Controller) -> None:
    beat(controller, 4, register(controller))
    again = {"incarnation": b"b" * 16}
    assert refusal(register, controller, **again) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    controller._clock.advance(TIMEOUT_MS + 100)
    assert register(controller, **again) == controller.image.brokers[4].epoch
    assert refusal(register, controller, 1) == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_the_same_incarnation_amends_its_registration(controller: Controller) -> None:
    epoch = register(controller)
    beat(controller, 4, epoch)
    assert register(controller, rack="r") == epoch
    assert (controller.image.brokers[4].rack, controller.image.brokers[4].fenced) == ("r", False)


@pytest.mark.parametrize("clean", [True, False])
def test_who_did_not_stop_cleanly_is_no_more_eligible(controller: Controller, clean: bool) -> None:
    epoch = register(controller)
    beat(controller, 4, epoch)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [4])])])
    controller._clock.advance(TIMEOUT_MS + 100)
    register(controller, incarnation=b"b" * 16, previous_broker_epoch=epoch if clean else -1)
    partition = controller.image.partition("t", 0)
    assert (partition.isr, partition.eligible_leader_replicas) == ([], [4] if clean else [])
    beat(controller, 4, controller.image.brokers[4].epoch)
    partition = controller.image.partition("t", 0)
    assert (partition.leader, partition.leader_recovery_state) == (4, 0 if clean else 1)


@pytest.mark.parametrize(
    ("code", "given"),
    [
        (ErrorCode.INCONSISTENT_CLUSTER_ID, {"cluster_id": "other"}),
        (ErrorCode.BROKER_ID_NOT_REGISTERED, {"is_migrating_zk_broker": True}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": []}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": [UNASSIGNED]}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": [DIRECTORY, DIRECTORY]}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": [bytes([1]) * 16]}),
        (ErrorCode.INVALID_REGISTRATION, {"features": []}),
        (ErrorCode.UNSUPPORTED_VERSION, {"features": [Feature("metadata.version", 7, 32)]}),
        (ErrorCode.UNSUPPORTED_VERSION, {"features": [Feature("metadata.version", 7, 33)]}),
    ],
)
def test_registrations_that_are_refused(controller: Controller, code: ErrorCode, given: dict[str, Any]) -> None:
    end = controller.log.end_offset
    assert refusal(register, controller, **given) == code
    assert controller.log.end_offset == end


def test_heartbeats_that_are_refused(controller: Controller) -> None:
    assert refusal(beat, controller, 4, 1) == ErrorCode.STALE_BROKER_EPOCH
    assert refusal(beat, controller, 1, controller.image.brokers[1].epoch) == ErrorCode.STALE_BROKER_EPOCH
    epoch = register(controller)
    assert refusal(beat, controller, 4, epoch + 1) == ErrorCode.STALE_BROKER_EPOCH


def test_a_directory_that_fails_takes_its_replicas_out_of_the_isr(controller: Controller) -> None:
    epoch = register(controller, log_dirs=[DIRECTORY, SECOND])
    beat(controller, 4, epoch)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [4, 1]), (1, [4, 1])])])
    assert controller.image.partition("t", 0).directories[0] == UNASSIGNED
    assign(controller, epoch, {DIRECTORY: [0], SECOND: [1]})
    beat(controller, 4, epoch, offline_log_dirs=[DIRECTORY])
    assert [controller.image.partition("t", index).isr for index in (0, 1)] == [[1], [4, 1]]
    assert controller.image.brokers[4].log_dirs == [SECOND]


def assign(controller: Controller, epoch: int, wanted: dict[bytes, list[int]], topic: bytes | None = None) -> list[int]:
    """The results, in order."""
    topic_id = topic or controller.image.topics["t"].id
    directories = [
        assigning.AssignReplicasToDirsRequestDirectoryData(
            directory,
            [
                assigning.AssignReplicasToDirsRequestTopicData(
                    topic_id, [assigning.AssignReplicasToDirsRequestPartitionData(index) for index in indexes]
                )
            ],
        )
        for directory, indexes in wanted.items()
    ]
    request = assigning.AssignReplicasToDirsRequest(4, epoch, directories)
    answer = serialising(controller).assign_replicas_to_dirs(request).value
    return [each.error_code for found in answer.directories for part in found.topics for each in part.partitions]


def test_where_replicas_lie(controller: Controller) -> None:
    epoch = register(controller, log_dirs=[DIRECTORY, SECOND])
    beat(controller, 4, epoch)
    controller.create_topics([NewTopic("t", -1, -1, [(0, [4, 1])]), NewTopic("u", -1, -1, [(0, [1])])])
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert assign(controller, epoch, {SECOND: [0, 7]}) == [0, unknown]
    other = controller.image.topics["u"].id
    assert assign(controller, epoch, {SECOND: [0]}, other) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert controller.image.partition("t", 0).directories[0] == SECOND
    assert assign(controller, epoch, {SECOND: [0]}, b"?" * 16) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert refusal(assign, controller, epoch + 1, {SECOND: [0]}) == ErrorCode.STALE_BROKER_EPOCH
    assert assign(controller, epoch, {LOST: [0]}) == [0]
    assert controller.image.partition("t", 0).leader == 1


def test_cordoned_directories_take_no_replicas(controller: Controller) -> None:
    epoch = register(controller)
    beat(controller, 4, epoch, cordoned_log_dirs=[bytes([104]) * 16])
    (result,) = controller.create_topics([NewTopic("t", -1, -1, [(0, [4])])]).value.result
    assert result.error.message.endswith("includes broker 4, but all its log directories are cordoned.")


def test_producer_ids_are_for_the_broker_of_that_epoch(controller: Controller) -> None:
    epoch = register(controller)
    assert len(controller.allocate_producer_ids(4, broker_epoch=epoch).value) == 1000
    with pytest.raises(KafkaError) as raised:
        _ = controller.allocate_producer_ids(4, broker_epoch=epoch + 1).value
    assert raised.value.code == ErrorCode.STALE_BROKER_EPOCH
