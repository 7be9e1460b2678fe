"""Kafka Streams with ``group.protocol=streams`` (KIP-1071): the broker assigns the tasks, and makes the internal topics.

exactly_once_v2, a repartition topic, a changelog and a standby: instances join, are killed, leave and return while records are counted,
and no count is lost or comes twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.conftest import takes_long
from compat_tests.harness.process import BrokerProcess
from compat_tests.harness.records import make_topics
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.requests import Ask
from compat_tests.streams.app import StreamsApp
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

WORDS = 7
PARTITIONS = 4
PART = 1200  # records that are fed at a time
LIMIT_S = 180
#: Tasks move fast, and who was killed is given up soon.
FAST = {
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.heartbeat.interval.ms": "200",
    "group.streams.assignment.interval.ms": "200",
    "group.streams.min.session.timeout.ms": "2000",
    "group.streams.session.timeout.ms": "3000",
}
STREAMS, CLASSIC = "group.protocol=streams", "group.protocol=classic"
APP, FROM, TO = "app", "words", "counts"


class Application:
    """Instances of one application, and what they have counted."""

    def __init__(self, folder: Path, broker: BrokerProcess, *settings: str) -> None:
        self._folder = folder
        self._bootstrap = broker.bootstrap
        self._settings = settings
        self._fed = 0
        self.instances: dict[str, StreamsApp] = {}
        self.ask = Ask(broker.bootstrap, 1, "streams")
        self.ask.wait_for_coordinators()
        configure(self.ask, APP, "streams.num.standby.replicas", "1")
        make_topics(broker.bootstrap, FROM, TO, partitions=PARTITIONS)
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
        group = {"group.id": "reader", "isolation.level": "read_committed"}
        self._reader = Consumer({"bootstrap.servers": broker.bootstrap, **group})
        self._reader.assign([TopicPartition(TO, index, 0) for index in range(PARTITIONS)])
        self.seen: dict[bytes, list[int]] = {}

    def start(self, name: str, protocol: str = STREAMS) -> None:
        """Start an instance, or start it again with the state that it had."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        app = StreamsApp(folder, "CountingApp", self._bootstrap, APP, FROM, TO, protocol, *self._settings)
        self.instances[name] = app
        app.start()

    def stop_all(self) -> None:
        """Stop the instances, and wait until their group has no members: a classic one has them for their sessions."""
        for app in self.instances.values():
            app.stop()
        wanted = {"streams": StreamsGroupDescribeRequest([APP]), "classic": DescribeGroupsRequest([APP])}
        deadline = time.monotonic() + LIMIT_S
        while "Empty" not in {
            self.ask.quietly(request, 1 if kind == "streams" else 6).groups[0].group_state
            for kind, request in wanted.items()
        }:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def count(self) -> None:
        """Feed a further part and wait until all of it is counted."""
        for number in range(self._fed, self._fed + PART):
            self._producer.produce(FROM, b"word %d" % (number % WORDS), partition=number % PARTITIONS)
        assert self._producer.flush(60) == 0
        self._fed += PART
        deadline = time.monotonic() + LIMIT_S
        while sum(found[-1] for found in self.seen.values()) < self._fed:
            assert time.monotonic() < deadline, self.seen
            message = self._reader.poll(1)
            if message is not None:
                assert message.error() is None, message.error()
                self.seen.setdefault(message.key(), []).append(int(message.value()))

    def is_exact(self) -> bool:
        """See ``faults``."""
        return not faults(self.seen, self._fed)

    def settled(self, instances: int) -> Any:
        """The description of the group once so many members have their tasks."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            (group,) = self.ask.quietly(StreamsGroupDescribeRequest([APP]), 1).groups
            if group.group_state == "Stable" and len(group.members) == instances:
                return group
            assert time.monotonic() < deadline, group
            time.sleep(0.1)

    def close(self) -> None:
        for app in self.instances.values():
            app.kill()
        self._reader.close()
        self.ask.close()


def faults(seen: dict[bytes, list[int]], fed: int) -> list[str]:
    """What is wrong with the counts that were seen of so many records: one comes twice, or after a larger one, or the last ones do not add up
    to the records. Counts may be left out: the application writes the newest with each commit.
    """
    found = [f"{word!r}: {counts}" for word, counts in seen.items() if counts != sorted(set(counts))]
    total = sum(counts[-1] for counts in seen.values())
    return found if total == fed else [*found, f"{total} of {fed}"]


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        ([1, 2, 3], [1], 0),
        ([1, 2, 2, 3], [1], 1),
        ([1, 3], [1], 0),
        ([1, 2, 1, 2, 3], [1], 1),
        ([1, 2], [1], 1),
        ([1, 2, 3, 4], [1], 1),
        ([2, 1], [2, 2], 3),
    ],
)
def test_the_judgement_finds_each_fault(first: list[int], second: list[int], wrong: int) -> None:
    assert len(faults({b"first": first, b"second": second}, 4)) == wrong


def tasks(group: Any, role: str) -> list[tuple[str, int]]:
    """The tasks of all members in a role."""
    return sorted(
        (each.subtopology_id, partition)
        for member in group.members
        for each in getattr(member.assignment, role)
        for partition in each.partitions
    )


ALL = sorted((subtopology, index) for subtopology in "01" for index in range(PARTITIONS))
STATEFUL = [each for each in ALL if each[0] == "1"]


@pytest.fixture
def application(start_target: Callable[..., BrokerProcess], tmp_path: Path) -> Iterator[Application]:
    application = Application(tmp_path, start_target(FAST))
    yield application
    application.close()


def test_counts_are_exact_though_one_joins_and_the_other_is_killed(application: Application) -> None:
    application.start("first")
    application.count()
    alone = application.settled(1)
    assert tasks(alone, "active_tasks") == ALL
    application.start("second")
    both = application.settled(2)
    assert tasks(both, "active_tasks") == ALL
    assert tasks(both, "standby_tasks") == STATEFUL
    application.count()
    application.instances["first"].kill()
    application.count()
    left = application.settled(1)
    assert tasks(left, "active_tasks") == ALL
    assert application.is_exact()


@takes_long
def test_a_rolling_bounce_with_two_and_three_instances(application: Application) -> None:
    names = ["first", "second", "third"]
    for name in names[:2]:
        application.start(name)
    application.settled(2)
    for name in names[:2]:
        application.count()
        application.instances[name].stop()
        application.settled(1)
        application.start(name)
        application.settled(2)
    application.start("third")
    application.settled(3)
    application.count()
    for number, name in enumerate(names):
        application.instances[name].stop()
        if number < 2:
            application.count()
    assert application.is_exact()


@takes_long
def test_the_broker_is_killed_under_an_application(start_target: Callable[..., BrokerProcess], tmp_path: Path) -> None:
    broker = start_target(FAST)
    application = Application(tmp_path, broker)
    try:
        application.start("first")
        application.start("second")
        before = {member.member_id for member in application.settled(2).members}
        application.count()
        broker.kill()
        broker.start()
        application.ask.reconnect()
        application.ask.wait_for_coordinators()
        application.count()
        assert {member.member_id for member in application.settled(2).members} == before
        assert application.is_exact()
    finally:
        application.close()


@takes_long
def test_an_application_moves_from_the_classic_protocol_and_back(application: Application) -> None:
    """All instances stop before the first with the other protocol: 4.4.0 moves no group with members."""
    application.start("first", CLASSIC)
    application.count()
    application.stop_all()
    application.start("first")
    application.start("second")
    assert tasks(application.settled(2), "active_tasks") == ALL
    application.count()
    application.stop_all()
    application.start("second", CLASSIC)
    application.count()
    assert application.is_exact()
