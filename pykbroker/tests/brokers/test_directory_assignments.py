from __future__ import annotations

import pytest

from pykbroker.brokers.directory_assignments import DirectoryAssignments
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from pykbroker.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponseDirectoryData as ResponseDirectory,
)
from pykbroker.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponsePartitionData as ResponsePartition,
)
from pykbroker.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponseTopicData as ResponseTopic,
)

TOPIC, OTHER_TOPIC = b"t" * 16, b"u" * 16
HERE, THERE = b"h" * 16, b"e" * 16


class Controller:
    """Keeps what it is asked, and answers when it is told to."""

    def __init__(self) -> None:
        self.world = MemoryCluster()
        self.asked: list[tuple[AssignReplicasToDirsRequest, Deferred[AssignReplicasToDirsResponse]]] = []
        self.assignments = DirectoryAssignments(1, 7, self.world.cluster.runtime, self._assign)

    def _assign(self, request: AssignReplicasToDirsRequest) -> Deferred[AssignReplicasToDirsResponse]:
        self.asked.append((request, Deferred()))
        return self.asked[-1][1]

    def turn(self) -> None:
        self.world.cluster.runtime.wake_queue.run()
        self.world.cluster.runtime.timers.run_due()

    def answer(self, code: int = 0) -> None:
        """Answer the last request, with this code for each replica."""
        request, answer = self.asked[-1]
        directories = [
            ResponseDirectory(
                directory.id,
                [
                    ResponseTopic(each.topic_id, [ResponsePartition(p.partition_index, code) for p in each.partitions])
                    for each in directory.topics
                ],
            )
            for directory in request.directories
        ]
        answer.complete(AssignReplicasToDirsResponse(directories=directories))
        self.turn()

    @property
    def named(self) -> dict[bytes, list[tuple[bytes, list[int]]]]:
        """What the last request has for each directory."""
        return {
            directory.id: [(each.topic_id, [p.partition_index for p in each.partitions]) for each in directory.topics]
            for directory in self.asked[-1][0].directories
        }


@pytest.fixture
def controller() -> Controller:
    return Controller()


def test_one_request_has_all_by_directory_and_topic(controller: Controller) -> None:
    for topic, index, directory in [(TOPIC, 0, HERE), (TOPIC, 1, THERE), (OTHER_TOPIC, 0, HERE), (TOPIC, 2, HERE)]:
        controller.assignments.want(topic, index, directory)
    controller.turn()
    assert len(controller.asked) == 1
    assert (controller.asked[0][0].broker_id, controller.asked[0][0].broker_epoch) == (1, 7)
    assert controller.named == {HERE: [(TOPIC, [0, 2]), (OTHER_TOPIC, [0])], THERE: [(TOPIC, [1])]}


def test_what_comes_meanwhile_goes_with_the_next(controller: Controller) -> None:
    controller.assignments.want(TOPIC, 0, HERE)
    controller.turn()
    controller.assignments.want(TOPIC, 1, HERE)
    controller.turn()
    assert len(controller.asked) == 1
    controller.answer()
    assert controller.named == {HERE: [(TOPIC, [1])]}


@pytest.mark.parametrize("refusal", ["an error", "a code"])
def test_a_refused_request_goes_again(controller: Controller, refusal: str) -> None:
    """After pauses that grow, until one is answered."""

    def refuse() -> None:
        answer = controller.asked[-1][1]
        if refusal == "an error":
            answer.fail(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "on purpose"))
        else:
            answer.complete(AssignReplicasToDirsResponse(error_code=ErrorCode.NOT_CONTROLLER))
        controller.turn()

    controller.assignments.want(TOPIC, 0, HERE)
    controller.turn()
    for pause_ms in (100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000):
        refuse()
        asked = len(controller.asked)
        controller.world.clock.advance(pause_ms * 3 // 4)
        controller.turn()
        assert len(controller.asked) == asked
        controller.world.clock.advance(pause_ms // 2)
        controller.turn()
        assert len(controller.asked) == asked + 1
        assert controller.named == {HERE: [(TOPIC, [0])]}
    controller.answer()
    controller.assignments.want(TOPIC, 1, HERE)
    controller.turn()
    refuse()
    asked = len(controller.asked)
    controller.world.clock.advance(100)
    controller.turn()
    assert len(controller.asked) == asked + 1


def test_of_many_replicas_some_go_with_each_request(controller: Controller) -> None:
    for index in range(2251):
        controller.assignments.want(TOPIC, index, HERE)
    controller.turn()
    ((_, first),) = controller.named[HERE]
    controller.answer()
    ((_, second),) = controller.named[HERE]
    assert first + second == list(range(2251))
    assert len(second) == 1


def test_a_replica_that_is_gone_is_named_once(controller: Controller, caplog: pytest.LogCaptureFixture) -> None:
    controller.assignments.want(TOPIC, 3, HERE)
    controller.turn()
    controller.answer(ErrorCode.UNKNOWN_TOPIC_ID)
    assert len(controller.asked) == 1
    assert "partition 3" in caplog.text
    assert "UNKNOWN_TOPIC_ID" in caplog.text


def test_who_has_ended_tells_nothing(controller: Controller) -> None:
    controller.assignments.want(TOPIC, 0, HERE)
    controller.assignments.end()
    controller.turn()
    assert controller.asked == []


def test_a_code_that_nobody_knows_is_named_once(controller: Controller, caplog: pytest.LogCaptureFixture) -> None:
    controller.assignments.want(TOPIC, 3, HERE)
    controller.turn()
    controller.assignments.want(TOPIC, 4, HERE)
    controller.answer(999)
    assert "UNKNOWN_SERVER_ERROR" in caplog.text
    assert controller.named == {HERE: [(TOPIC, [4])]}


def test_what_an_answer_leaves_out_goes_again_after_a_pause(controller: Controller) -> None:
    controller.assignments.want(TOPIC, 0, HERE)
    controller.turn()
    controller.asked[-1][1].complete(AssignReplicasToDirsResponse())
    controller.turn()
    assert len(controller.asked) == 1
    controller.world.clock.advance(100)
    controller.turn()
    assert len(controller.asked) == 2
    controller.answer()
    assert len(controller.asked) == 2
