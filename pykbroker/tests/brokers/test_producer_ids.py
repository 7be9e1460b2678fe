"""A number at once where there is one, and the next block before the last number is gone."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.brokers.producer_ids import ProducerIds
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError


class Controller:
    """Gives blocks of 20 when it is told to."""

    def __init__(self) -> None:
        self.asked: list[Deferred[range]] = []
        self.given = 0

    def allocate(self) -> Deferred[range]:
        self.asked.append(Deferred())
        return self.asked[-1]

    def give(self) -> None:
        self.asked.pop().complete(range(self.given, self.given + 20))
        self.given += 20

    def refuse(self) -> None:
        self.asked.pop().fail(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def ids(controller: Controller) -> ProducerIds:
    return ProducerIds(controller.allocate)


def test_without_a_block_one_is_asked_for_and_there_is_no_number(controller, ids):
    for _ in range(2):
        with pytest.raises(KafkaError) as none:
            ids.take()
        assert none.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert len(controller.asked) == 1
    controller.give()
    assert ids.take() == 0


def test_the_next_block_is_asked_for_when_a_tenth_is_left(controller, ids):
    waits = [ids.awaited() for _ in range(3)]
    controller.give()
    assert [wait.value for wait in waits] == [None] * 3
    assert ids.awaited() is None
    assert [ids.take() for _ in range(17)] == list(range(17))
    assert controller.asked == []
    assert ids.take() == 17
    assert len(controller.asked) == 1
    assert ids.take() == 18
    controller.give()
    assert [ids.take() for _ in range(4)] == [19, 20, 21, 22]
    assert controller.asked == []


def test_who_waits_is_told_why_there_is_no_block_and_the_next_one_asks_again(controller, ids, caplog):
    waiting = ids.awaited()
    controller.refuse()
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        _ = waiting.value
    assert "Producer ids cannot be allocated by the controller: KAFKA_STORAGE_ERROR" in caplog.text
    again = ids.awaited()
    controller.give()
    assert again.value is None
    assert ids.take() == 0


def test_a_block_that_was_given_before_is_not_used(controller, ids):
    ids.awaited()
    controller.give()
    numbers = [ids.take() for _ in range(20)]
    controller.given = 10
    controller.give()
    with pytest.raises(KafkaError):
        numbers.append(ids.take())
    assert numbers == list(range(20))


@given(st.lists(st.sampled_from(["take", "take many", "available", "give", "refuse"]), max_size=60))
def test_no_number_comes_twice(steps):
    controller = Controller()
    ids = ProducerIds(controller.allocate)
    taken: list[int] = []
    for step in steps:
        match step:
            case "take" | "take many":
                for _ in range(13 if step == "take many" else 1):
                    with suppress(KafkaError):
                        taken.append(ids.take())
            case "available":
                ids.awaited()
            case "give" if controller.asked:
                controller.give()
            case "refuse" if controller.asked:
                controller.refuse()
        assert len(controller.asked) <= 1
    assert taken == sorted(set(taken))
