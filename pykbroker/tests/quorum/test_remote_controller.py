from __future__ import annotations

import random
from typing import Any

import pytest

from pykbroker.quorum.observer import Address
from pykbroker.quorum.remote_controller import RemoteController
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from pykbroker.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from pykbroker.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

FIRST, SECOND = Address("c1", 9093), Address("c2", 9093)
SILENT = KafkaError(ErrorCode.NETWORK_EXCEPTION, "silence")
BLOCK = AllocateProducerIdsResponse(producer_id_start=5000, producer_id_len=1000)


class Answers:
    """The observer, which knows a leader, and the nodes, which answer what a test says, in order."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Address, Any, float, int]] = []
        self.leader: Address | None = FIRST
        self.clock = ManualClock()
        self.runtime = Runtime(self.clock, random.Random(1))
        self.controller = RemoteController(self, self, self.runtime, lambda: 77, 1000)  # type: ignore[arg-type]

    @property
    def observer(self) -> Answers:
        return self

    def ask(self, address: Address, request: Any, response: Any, limit_ms: float, lowest: int = 0) -> Deferred[Any]:
        self.asked.append((address, request, limit_ms, lowest))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return Deferred.failed(answer) if isinstance(answer, KafkaError) else Deferred.completed(answer)

    def pass_ms(self, ms: int) -> None:
        for _ in range(ms // 50):
            self.clock.advance(50)
            self.runtime.timers.run_due()


def test_a_block_of_producer_ids() -> None:
    answers = Answers(BLOCK)
    assert answers.controller.allocate_producer_ids(4).value == range(5000, 6000)
    ((address, request, limit_ms, _),) = answers.asked
    assert isinstance(request, AllocateProducerIdsRequest)
    assert (address, request.broker_id, request.broker_epoch, limit_ms) == (FIRST, 4, 77, 1000)


def test_the_next_leader_is_asked() -> None:
    answers = Answers(AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER), SILENT, BLOCK)
    wait = answers.controller.allocate_producer_ids(4)
    answers.leader = None
    answers.pass_ms(200)
    answers.leader = SECOND
    answers.pass_ms(100)
    assert wait.value == range(5000, 6000)
    assert [each[0] for each in answers.asked] == [FIRST, SECOND, SECOND]
    assert answers.asked[1][2] == pytest.approx(750)  # what is left of the limit


@pytest.mark.parametrize("leader", [FIRST, None])
def test_it_is_given_up(leader: Address | None) -> None:
    answers = Answers(SILENT)
    answers.leader = leader
    wait = answers.controller.allocate_producer_ids(4)
    answers.pass_ms(900)
    assert not wait.done
    answers.pass_ms(100)
    assert isinstance(wait.error, KafkaError)
    assert wait.error.code is ErrorCode.NETWORK_EXCEPTION
    assert wait.error.message == ("silence" if leader else "no controller that leads is reached")
    count = len(answers.asked)
    answers.pass_ms(1000)
    assert len(answers.asked) == count


def test_what_an_answer_says_of_all_is_a_failure() -> None:
    answers = Answers(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    wait = answers.controller.alter_partition(AlterPartitionRequest())
    assert isinstance(wait.error, KafkaError)
    assert wait.error.code is ErrorCode.STALE_BROKER_EPOCH
    assert answers.asked[0][3] == 3


def test_answers_are_passed_on() -> None:
    altered, assigned = AlterPartitionResponse(), AssignReplicasToDirsResponse()
    answers = Answers(altered, assigned)
    assert answers.controller.alter_partition(AlterPartitionRequest()).value is altered
    assert answers.controller.assign_replicas_to_dirs(AssignReplicasToDirsRequest()).value is assigned


def test_what_is_no_answer_is_not_repeated() -> None:
    answers = Answers(KafkaError(ErrorCode.UNSUPPORTED_VERSION))
    wait = answers.controller.allocate_producer_ids(4)
    assert isinstance(wait.error, KafkaError)
    assert wait.error.code is ErrorCode.UNSUPPORTED_VERSION
