"""What librdkafka 2.16 does wrong where the coordinator of its group moves, here as beside Apache Kafka.

Why the payers of ``librdkafka_payer.py`` begin anew when they have read nothing for a while: it never reads a partition whose committed
offset it has asked of a broker that was no longer the coordinator (its issue 5586). The answer has the error of the group and no partition.
The client looks for the coordinator, and neither asks it again nor tells anybody.

What ``librdkafka-classic`` and ``librdkafka-consumer`` double, if they do: an answer to ListOffsets that comes when its partition has been taken
away has it asked once more half a second later, whatever has become of the partition, and read from there. So a member reads from the beginning
what it was assigned at an offset, or has in its queue what it was not assigned, when it is.

What ``librdkafka-consumer`` doubles, too: a member that is told its partitions, and has not taken them yet, tells the next coordinator
that it owns nothing. So a partition is given to another member, and with the next epoch, which the answer brings, the first one takes it all
the same, and commits what it does with it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

from compat_tests.testing_faults.sides import STOCK, Apache, Ours, Side, wait_until
from compat_tests.testing_faults.test_catalogue import producing
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
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


# ---- a late answer


class ClientLines(logging.Handler):
    """What the client tells of its topics, as often as it is asked for records."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.mark.parametrize("which", [0, 1], ids=["ours", "Apache Kafka"])
def test_a_late_answer_has_a_partition_read_from_the_beginning(sides: tuple[Ours, Apache], which: int) -> None:
    side: Any = sides[which]
    for topic in ("met", "late"):
        side.topic(topic, 2, 1, retention_ms="-1")
        for _ in range(4):
            assert side.once(producing(topic), 9, 2).responses[0].partition_responses[0].error_code == 0
    log_lines = ClientLines()
    log = logging.getLogger(f"{__name__}.late")
    log.setLevel(logging.DEBUG)
    log.propagate, log.handlers = False, [log_lines]
    settings = {
        "bootstrap.servers": side.bootstrap,
        "client.id": STOCK,
        "group.id": "late",
        "enable.auto.commit": False,
        "debug": "topic",
    }
    with closing(Consumer(settings, logger=log)) as consumer:
        consumer.assign([TopicPartition("met", 0, 0)])
        assert reads(consumer, 60)  # from here on it is connected to the leader
        consumer.list_topics(timeout=60)

        def tells(words: str) -> bool:
            consumer.poll(0.02)
            return any(words in line for line in log_lines.lines)

        with side.held("ListOffsets"):
            consumer.assign([TopicPartition("late", 0, OFFSET_BEGINNING)])
            wait_until(lambda: tells("ListOffsetsRequest"), "it does not ask where the partition begins")
            consumer.assign([TopicPartition("late", 0, 3)])
            wait_until(lambda: tells("Start consuming late [0] at offset 3"), "it is not assigned anew")
        offsets: list[int | None] = []

        def goes_back() -> bool:
            offsets.extend(each.offset() for each in consumer.consume(1, 0.1) if each.error() is None)
            return 0 in offsets

        wait_until(goes_back, "it reads nothing but what it was assigned")
        assert tells("outdated offset response")


# ---- two members with one partition

GIVEN = "both"
TOPICS = ("left", "right")


def meant_for(side: Side, broker: int, *, other: bool) -> tuple[list[str], list[str]]:
    """The topics that the coordinator means a member to have, and those that it has."""
    members = side.once(ConsumerGroupDescribeRequest([GIVEN]), 1, broker).groups[0].members
    for each in members:
        if (each.member_id == Other.ID) == other:
            return [what.topic_name for what in each.target_assignment.topic_partitions], [
                what.topic_name for what in each.assignment.topic_partitions
            ]
    return [], []


class Other:
    """The second member, by raw requests."""

    ID = "the other"

    def __init__(self, side: Side, broker: int) -> None:
        self._side = side
        self._stated: dict[str, Any] = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": list(TOPICS),
            "topic_partitions": [],
        }
        self.epoch = 0
        self.beat(broker)

    def beat(self, broker: int) -> bool:
        """Whether the coordinator has taken its heartbeat."""
        answer = self._side.once(ConsumerGroupHeartbeatRequest(GIVEN, self.ID, self.epoch, **self._stated), 1, broker)
        if not answer.error_code:
            self.epoch, self._stated = answer.member_epoch, {}
        return not answer.error_code

    def given(self, broker: int) -> list[str]:
        """The topics that it has, as of its next heartbeat."""
        return meant_for(self._side, broker, other=True)[1] if self.beat(broker) else []

    def commits(self, topic: str, broker: int) -> str:
        """The error of its commit."""
        position = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 1)])
        answer = self._side.once(OffsetCommitRequest(GIVEN, self.epoch, self.ID, topics=[position]), 9, broker)
        return ErrorCode(answer.topics[0].partitions[0].error_code).name


def first_of(consumer: Consumer, topic: str) -> Message:
    """The first record that it reads of a topic."""

    def read() -> Message | None:
        return next((each for each in consumer.consume(1, 0.1) if each.topic() == topic), None)

    found: Message = wait_until(read, "it reads nothing")
    return found


@pytest.mark.parametrize("which", [0, 1], ids=["ours", "Apache Kafka"])
def test_two_members_commit_for_one_partition(sides: tuple[Ours, Apache], which: int) -> None:
    """Broker 1 leads, and broker 2 coordinates when it does not answer the heartbeat that says what the consumer has taken, until that has read."""
    side: Any = sides[which]
    for topic in TOPICS:
        side.topic(topic, 1, 2, retention_ms="-1")
        assert side.once(producing(topic), 9, 1).responses[0].partition_responses[0].error_code == 0
    if coordinator_of(side, GIVEN) == 2:
        side.move(KIND, "__consumer_offsets", 1)
        coordinator_of(side, GIVEN)
    settings = {
        "bootstrap.servers": side.bootstrap,
        "client.id": STOCK,
        "group.id": GIVEN,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    producer = Producer({"bootstrap.servers": side.bootstrap, "transactional.id": GIVEN, "log_level": 0})
    producer.init_transactions(60)
    with closing(Consumer(settings)) as consumer, ExitStack() as holding:

        def taken(_: Consumer, partitions: list[TopicPartition]) -> None:
            if len(partitions) == len(TOPICS):
                holding.enter_context(side.held("ConsumerGroupHeartbeat"))
            consumer.incremental_assign([TopicPartition(each.topic, each.partition, 0) for each in partitions])

        consumer.subscribe(list(TOPICS), on_assign=taken)  # it takes what it is assigned when it is asked for records
        wait_until(lambda: len(meant_for(side, 1, other=False)[1]) == len(TOPICS), "it is not assigned what there is")
        other = Other(side, 1)
        wait_until(lambda: len(meant_for(side, 1, other=False)[0]) == 1, "the other member is meant for nothing")
        side.move(KIND, "__consumer_offsets", 2)
        (given,) = wait_until(lambda: other.given(2), "the other member gets nothing")
        record, metadata = first_of(consumer, given), consumer.consumer_group_metadata()
        holding.close()
        producer.begin_transaction()
        producer.produce("done", record.value())
        positions = [TopicPartition(given, 0, 1)]
        producer.send_offsets_to_transaction(positions, metadata, 60)
        producer.commit_transaction(60)
        assert other.given(2) == [given]
        assert other.commits(given, 2) == "NONE"
