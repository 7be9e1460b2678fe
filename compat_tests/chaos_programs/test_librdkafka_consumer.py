"""Why the payers of ``librdkafka_payer.py`` begin anew when they have read nothing for a while: librdkafka 2.16 never reads a partition whose
committed offset it has asked of a broker that was no longer the coordinator (its issue 5586).

The answer has the error of the group and no partition, here as in Apache Kafka. The client looks for the coordinator, and neither asks
it again nor tells anybody.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from compat_tests.testing_faults.sides import Apache, Ours, Side, wait_until
from compat_tests.testing_faults.test_catalogue import producing
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

KIND = "coordinator moved"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ours, Apache]]:
    with closing(Ours()) as ours, closing(Apache(tmp_path_factory.mktemp("stale"))) as apache:
        yield ours, apache


def coordinator_of(side: Side, group: str) -> int:
    """The broker that coordinates a group, once there is one that answers for it."""
    wait_until(lambda: side.once(FindCoordinatorRequest(group), 3).error_code == 0, "there is no coordinator")
    found = side.leader("__consumer_offsets")[0]
    wait_until(lambda: not side.once(committed(group), 9, found).groups[0].error_code, "it does not load")
    return found


def committed(group: str) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics("stale", partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)])


def refused(side: Side, broker: int) -> Any:
    """What a broker answers for the group, if that is an error."""
    answer = side.once(committed("g"), 9, broker).groups[0]
    return answer if answer.error_code else None


def test_the_answer_of_the_coordinator_of_before_has_no_partitions(sides: tuple[Ours, Apache]) -> None:
    seen = []
    for side in sides:
        before = coordinator_of(side, "g")
        side.move(KIND, "__consumer_offsets", 3 - before)
        answer = wait_until(partial(refused, side, before), "it goes on")
        seen.append((ErrorCode(answer.error_code).name, answer.topics))
    assert seen == [("NOT_COORDINATOR", []), ("NOT_COORDINATOR", [])]


def reads(consumer: Consumer, seconds: float) -> bool:
    """Whether it reads anything within so many seconds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if any(each.error() is None for each in consumer.consume(1, 0.1)):
            return True
    return False


@pytest.mark.parametrize("which", [0, 1], ids=["ours", "Apache Kafka"])
def test_the_client_stands_still(sides: tuple[Ours, Apache], which: int) -> None:
    side = sides[which]
    side.topic("stale", 1, 2, retention_ms="-1")  # the record is years old
    before = coordinator_of(side, "g")
    produced = side.once(producing("stale"), 9, side.leader("stale")[0])
    assert produced.responses[0].partition_responses[0].error_code == 0
    settings = {
        "bootstrap.servers": side.bootstrap,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    partitions = [TopicPartition("stale", 0)]
    with closing(Consumer(settings)) as consumer:
        consumer.assign(partitions)
        assert reads(consumer, 30)
        consumer.unassign()
        side.move(KIND, "__consumer_offsets", 3 - before)
        wait_until(partial(refused, side, before), "it goes on")
        consumer.assign(partitions)
        assert not reads(consumer, 5)
        consumer.assign(partitions)
        assert reads(consumer, 30)  # it has found the new coordinator, and asks it when it is told to begin anew
