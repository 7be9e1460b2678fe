"""The kinds of chaos for which Apache Kafka 4.4.0 needs brokers of its own: an unclean election, for which a follower ends that is not the
controller, and a clock that steps, by a class in place of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.java import PLAIN, compile_java, java
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import NOT_YET, Transacting, quiet_until
from compat_tests.testing_faults.sides import SETTINGS, Ours, Side, wait_until
from compat_tests.testing_faults.test_catalogue import KINDS, code, coordinator, fetching, producing
from pykbroker.faults.chaos_catalogue import CATALOGUE
from pykbroker.faults.chaos_tape import LONGEST_DOWN_MS, ClusterOutcome
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from scripts.jars import classpath

UNCLEAN, STEP = "unclean election", "clock step"
STEP_MS = 300_000
#: A group's session, and what a transaction may last: less than a step.
PATIENCE_MS = 60_000


def test_every_kind_is_held_beside_apache_kafka() -> None:
    assert {*KINDS, UNCLEAN, STEP} == {each.name for each in CATALOGUE}


# ---- an unclean election


class OursOfThree(Ours):
    def __init__(self) -> None:
        super().__init__(3, **{"replica.lag.time.max.ms": "1500"})

    def befall(self, topic: str) -> None:
        """Broker 2 loses its follower, takes a record alone, and is lost."""
        with self.lasting(ClusterOutcome(0, UNCLEAN, 2, down_ms=12_000), self.apart):
            write_what_is_lost(self, topic)
            wait_until(lambda: self.leader(topic)[0] == 3 and self.leads(3, topic), "broker 3 does not lead")


class ApacheOfThree(Side):
    """The controller is broker 1's process."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        first = ApacheKafka(folder / "1", SETTINGS)
        self.nodes = [first, *(ApacheBroker(folder / str(each), first, each, SETTINGS) for each in (2, 3))]
        for each in self.nodes:
            each.start()
        self.addresses = {number: each.bootstrap for number, each in enumerate(self.nodes, 1)}

    def close(self) -> None:
        for each in reversed(self.nodes):
            each.kill()

    def befall(self, topic: str) -> None:
        """The same: the follower is killed, the leader, and the follower is there again."""
        _, second, third = self.nodes
        third.kill()
        write_what_is_lost(self, topic)
        second.kill()
        wait_until(lambda: self.leader(topic)[0] == -1, "broker 2 leads")
        third.start()
        wait_until(lambda: self.leader(topic)[0] == 3 and self.leads(3, topic), "broker 3 does not lead")
        second.start()


def in_sync(side: Side, topic: str) -> list[int]:
    """The replicas in sync, as broker 1 says."""
    found: Any = side.once(MetadataRequest([MetadataRequestTopic(name=topic)], False), 12).topics[0]
    return sorted(found.partitions[0].isr_nodes)


def write_what_is_lost(side: Side, topic: str) -> None:
    """Write what no follower gets: it is answered when they have left."""
    request = producing(topic, b"lost")
    request.timeout_ms = 60_000
    assert code(side.connect().ask(request, 9)) == ("NONE", 1)
    assert in_sync(side, topic) == [2]


@pytest.fixture
def of_three(tmp_path: Path) -> Iterator[tuple[OursOfThree, ApacheOfThree]]:
    with closing(OursOfThree()) as ours, closing(ApacheOfThree(tmp_path)) as apache:
        yield ours, apache


def test_an_unclean_election(of_three: tuple[OursOfThree, ApacheOfThree]) -> None:
    """What the new leader says to who has read what is gone, and that the old one follows it."""
    seen = []
    for side in of_three:
        side.topic("t", 2, 3, unclean_leader_election_enable="true", min_insync_replicas="1")
        assert code(side.connect().ask(producing("t"), 9)) == ("NONE", 0)
        before = side.leader("t")[1]
        side.befall("t")
        epoch, new = side.leader("t")[1], side.connect(3)
        assert epoch > before
        diverged = fetching("t", 2, epoch)
        diverged.topics[0].partitions[0].last_fetched_epoch = before
        found = [
            new.ask(each, 12).responses[0].partitions[0]
            for each in (fetching("t", 1, before), fetching("t", 2, epoch), diverged)
        ]
        partition = OffsetForLeaderPartition(0, epoch, before)
        request: Any = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [partition])])
        end = new.ask(request, 4).topics[0].partitions[0]
        wait_until(lambda side=side: in_sync(side, "t") == [2, 3], "broker 2 does not follow")
        seen.append([
            *(ErrorCode(each.error_code).name for each in found),
            (found[-1].diverging_epoch.epoch == before, found[-1].diverging_epoch.end_offset),
            (end.leader_epoch == before, end.end_offset),
            code(new.ask(producing("t"), 9)),
        ])  # fmt: skip
        side.disconnect()
    assert seen[0] == seen[1], f"ours, and Apache Kafka's: {seen}"
    assert seen[0][-1] == ("NONE", 1), "what the leader took alone is gone"


# ---- a clock that steps


class OursOfOne(Ours):
    def __init__(self) -> None:
        super().__init__(1, **{"offsets.topic.replication.factor": "1"})

    def step(self, ahead_ms: int) -> None:
        befalls = self.befalls(ClusterOutcome(0, STEP, 1, down_ms=LONGEST_DOWN_MS, ahead_ms=ahead_ms))
        befalls.__enter__()  # what has begun goes on when chaos ends


class ApacheOfOne(Side):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._ahead = folder / "ahead"
        self.step(0)
        self.node = SteppingKafka(folder / "1", self._ahead)
        self.node.start()
        self.addresses = {1: self.node.bootstrap}

    def close(self) -> None:
        self.node.kill()

    def step(self, ahead_ms: int) -> None:
        with self._ahead.open("r+b" if self._ahead.exists() else "wb") as file:
            file.write(struct.pack(">q", ahead_ms))


class SteppingKafka(ApacheKafka):
    """Apache Kafka with a class of the clock before its own."""

    def __init__(self, folder: Path, ahead: Path) -> None:
        super().__init__(folder, {**SETTINGS, "offsets.topic.replication.factor": "1"})
        self._ahead = ahead

    def command(self) -> list[str]:
        classes = compile_java([Path(__file__).with_name("SystemTime.java")], self.jars)
        path = f"{classes}:{classpath(self.jars)}"
        return [java(), *PLAIN, f"-Dclock.ahead={self._ahead}", "-cp", path, "kafka.Kafka", str(self.properties)]


@pytest.fixture
def of_one(tmp_path: Path) -> Iterator[tuple[OursOfOne, ApacheOfOne]]:
    with closing(OursOfOne()) as ours, closing(ApacheOfOne(tmp_path)) as apache:
        yield ours, apache


def test_a_clock_step(of_one: tuple[OursOfOne, ApacheOfOne]) -> None:
    """Timestamps jump and go back, a transaction is over early, and a session is not."""
    seen = []
    for side in of_one:
        side.topic("t", 1, message_timestamp_type="LogAppendTime")
        connection, ask = side.connect(1), Ask(side.addresses[1], 9, "aside")

        def written(connection: Any = connection) -> int:
            answer = connection.ask(producing("t"), 9).responses[0].partition_responses[0]
            assert answer.error_code == 0
            ms: int = answer.log_append_time_ms
            return ms

        with closing(ask):
            coordinator(side, "g", 0)
            member = joined(connection)
            producer = Transacting(ask, "id", PATIENCE_MS)
            producer.add(("t", 0))
            before = written()
            side.step(STEP_MS)
            wait_until(lambda: written() - before > STEP_MS * 0.9, "the clock does not step")  # noqa: B023
            described = DescribeTransactionsRequest([producer.id])
            quiet_until(
                ask, lambda found: found.transaction_states[0].transaction_state == "CompleteAbort", described, 0
            )
            ended: Any = connection.ask(producer.ending(commit=True), 3)
            init = InitProducerIdRequest(producer.id, PATIENCE_MS)
            began = quiet_until(ask, lambda found: found.error_code not in NOT_YET, init, 4)
            beat: Any = connection.ask(HeartbeatRequest("g", member.generation_id, member.member_id), 3)
            side.step(-STEP_MS)
            wait_until(lambda: written() - before < -STEP_MS * 0.9, "the clock does not go back")  # noqa: B023
        seen.append([
            *(ErrorCode(each.error_code).name for each in (ended, began, beat)),
            began.producer_epoch - producer.epoch,
        ])  # fmt: skip
        side.disconnect()
    assert seen[0] == seen[1], f"ours, and Apache Kafka's: {seen}"
    assert seen[0][2] == "NONE", "a session is not counted on the wall clock"


def joined(connection: Any) -> Any:
    """The member of a group, alone in it."""
    joins = JoinGroupRequest(
        "g", PATIENCE_MS, 5000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"")]
    )
    return wait_until(
        lambda: answer if not (answer := connection.ask(joins, 3)).error_code else None, "it does not join"
    )
