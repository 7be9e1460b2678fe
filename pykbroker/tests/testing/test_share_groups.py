"""Share groups as a test sees them: members, where a group is, and what its members hold."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple

import pytest

from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.testing import Kafka
from pykbroker.testing.share_groups import DeliveredRange
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

MEMBER = str(uuid.UUID(int=7))
SETTINGS = {"group.share.min.heartbeat.interval.ms": 200, "group.share.heartbeat.interval.ms": 200}


class Worker:
    """A member of the share group ``work``, which reads partition 0 of ``jobs``."""

    def __init__(self, client: Client, kafka: Kafka, member: str = MEMBER) -> None:
        self._client = client
        self._member = member
        (self._topic,) = kafka.node.cluster.metadata.image.topics_by_id.keys() - self._internal(kafka)
        self._epoch = 0
        self._session = 0

    @staticmethod
    def _internal(kafka: Kafka) -> set[bytes]:
        return {each.id for each in kafka.node.cluster.metadata.image.topics.values() if each.internal}

    def beat(self, epoch: int | None = None) -> None:
        request = ShareGroupHeartbeatRequest(
            "work",
            self._member,
            self._epoch if epoch is None else epoch,
            subscribed_topic_names=["jobs"] if self._epoch == 0 else None,
        )
        answer = self._client.coordinator("work").call(request, ShareGroupHeartbeatResponse)
        assert answer.error_code == 0, answer.error_message
        self._epoch = answer.member_epoch

    def fetch(self, *acknowledged: AcknowledgementBatch, code: ErrorCode = ErrorCode.NONE) -> None:
        request = ShareFetchRequest(
            "work",
            self._member,
            share_session_epoch=self._session,
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=4,
            batch_size=4,
            topics=[FetchTopic(self._topic, [FetchPartition(0, acknowledgement_batches=list(acknowledged))])],
        )
        answer = self._client.leader("jobs", 0).call(request, ShareFetchResponse)
        assert answer.error_code == code, answer.error_message
        self._session += 1


@contextmanager
def working(kafka: Kafka, member: str = MEMBER) -> Iterator[Worker]:
    with Client(parse_bootstrap(kafka.bootstrap_servers), timeout_s=30) as client:
        yield Worker(client, kafka, member)


@pytest.mark.parametrize("how", ["reset", "restore"])
def test_a_life_that_ends_with_records_acquired_leaves_no_error(how: str) -> None:
    """Its connections end, and with them share sessions, which release what they hold: into data that is given up."""
    with Kafka(SETTINGS) as kafka:
        kafka.create_topic("jobs")
        kafka.snapshot("before")
        with working(kafka) as worker:
            worker.beat()
            kafka.wait_for_share_group("work", lambda group: ("jobs", 0) in group.partitions)
            worker.fetch()
            kafka.produce("jobs", "job")
            worker.fetch()
            kafka.wait_for_share_group("work", lambda group: group.partitions["jobs", 0].acquired)
            kafka.reset() if how == "reset" else kafka.restore("before")
        assert not [line for line in kafka.log_lines if " WARNING " in line or " ERROR " in line]


@pytest.mark.parametrize("how", ["reset", "restore"])
def test_share_sessions_of_a_life_that_has_ended_take_no_room(how: str) -> None:
    with Kafka({**SETTINGS, "group.share.max.share.sessions": 1, "group.share.max.size": 1}) as kafka:
        kafka.create_topic("jobs")
        kafka.snapshot("before")
        for _ in range(3):
            with working(kafka) as worker, working(kafka, str(uuid.UUID(int=8))) as other:
                worker.beat()
                kafka.wait_for_share_group("work", lambda group: ("jobs", 0) in group.partitions)
                worker.fetch()
                other.fetch(code=ErrorCode.SHARE_SESSION_LIMIT_REACHED)
                kafka.reset() if how == "reset" else kafka.restore("before")
            if how == "reset":
                kafka.create_topic("jobs")


def test_a_share_group_from_its_first_member_to_its_end() -> None:
    with Kafka(SETTINGS) as kafka:
        kafka.create_topic("jobs")
        assert kafka.share_group("work").state == "Dead"
        with working(kafka) as worker:
            worker.beat()
            joined = kafka.wait_for_group("work", "Stable", members=1)
            assert joined.type == "share"
            kafka.wait_for_share_group("work", lambda group: ("jobs", 0) in group.partitions)
            worker.fetch()  # begins at the end
            for number in range(10):
                kafka.produce("jobs", f"job {number}")
            worker.fetch()
            seen = kafka.wait_for_share_group("work", lambda group: group.partitions["jobs", 0].acquired)
            assert seen.members[0].member_id == MEMBER
            first = seen.partitions["jobs", 0].in_flight[0]
            assert (first.first, first.state, first.deliveries, first.member) == (0, "acquired", 1, MEMBER)
            assert seen.lag == 10
            worker.fetch(AcknowledgementBatch(0, 0, [1]))
            done = kafka.wait_for_share_group("work", lambda group: group.lag == 9)
            assert done.partitions["jobs", 0].start_offset == 1
            assert all(isinstance(each, DeliveredRange) for each in done.partitions["jobs", 0].in_flight)
            worker.beat(-1)
        kafka.wait_for_group("work", "Empty")
        kafka.wait_for_share_group("work", lambda group: not group.partitions["jobs", 0].acquired)


def in_flight(kafka: Kafka) -> list[tuple[int, int, str, int, str]]:
    return [astuple(each) for each in kafka.share_group("work").partitions["jobs", 0].in_flight]  # type: ignore[misc]


def acquires_four(kafka: Kafka, worker: Worker) -> None:
    """Four jobs, which the worker has acquired."""
    worker.beat()
    kafka.wait_for_share_group("work", lambda group: ("jobs", 0) in group.partitions)
    worker.fetch()  # begins at the end
    for number in range(4):
        kafka.produce("jobs", f"job {number}")
    worker.fetch()
    assert in_flight(kafka) == [(0, 3, "acquired", 1, MEMBER)]


def test_a_manual_clock_ends_locks_and_sessions() -> None:
    with Kafka(SETTINGS, clock="manual") as kafka:
        kafka.create_topic("jobs")
        with working(kafka) as worker:
            acquires_four(kafka, worker)
            kafka.advance(seconds=29)
            assert in_flight(kafka) == [(0, 3, "acquired", 1, MEMBER)]
            kafka.advance(seconds=2)
            assert in_flight(kafka) == [(0, 3, "available", 1, "")]
            assert kafka.group("work").state == "Stable"
            kafka.advance(seconds=15)
            assert kafka.group("work").state == "Empty"


def test_what_a_throttled_member_is_not_sent_was_no_delivery() -> None:
    with Kafka(SETTINGS) as kafka:
        kafka.create_topic("jobs")
        with working(kafka) as worker:
            acquires_four(kafka, worker)
            kafka.produce("jobs", "job 4")
            with kafka.faults.add("ShareFetch", throttle="1ms", times=1):
                worker.fetch()
            assert in_flight(kafka) == [(0, 3, "acquired", 1, MEMBER), (4, 4, "available", 0, "")]
            worker.fetch()
            assert in_flight(kafka) == [(0, 3, "acquired", 1, MEMBER), (4, 4, "acquired", 1, MEMBER)]


def test_a_snapshot_in_the_middle_of_work() -> None:
    """What members hold is nobody's after it, as after a restart; what they said of records is kept."""
    with Kafka(SETTINGS) as kafka:
        kafka.create_topic("jobs")
        with working(kafka) as worker:
            acquires_four(kafka, worker)
            worker.fetch(AcknowledgementBatch(1, 2, [1, 2]))
            kafka.snapshot("middle")
            worker.fetch(AcknowledgementBatch(0, 0, [1]))
        kafka.restore("middle")
        assert kafka.share_group("work").lag == 3
        with working(kafka) as worker:
            worker.fetch()
            assert in_flight(kafka) == [
                (0, 0, "acquired", 1, MEMBER),
                (1, 1, "acknowledged", 1, ""),
                (2, 2, "acquired", 2, MEMBER),
                (3, 3, "acquired", 1, MEMBER),
            ]
