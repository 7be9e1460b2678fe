"""Fetches by followers, as a Java broker sends them: they read to the log end, and say how far they are."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.tests.brokers.test_replica_manager import OwnCopies
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic


class WithoutFollowers(OwnCopies):
    """Brokers 2 and 3 do not reach the leader: the test fetches in their place."""

    def __init__(self) -> None:
        super().__init__()
        assert self.cluster.peers is not None
        self.cluster.peers.cut = {(2, 1), (3, 1)}
        self.pass_time(1000)
        self.produce(b"a", acks=1)

    def fetch_as(
        self, replica: int, offset: int, version: int, *, epoch: int = 0, broker_epoch: int | None = None
    ) -> Any:
        """What the leader answers a follower, at once."""
        known = self.image.brokers[replica].epoch if replica in self.image.brokers else -1
        asked = FetchPartition(
            partition=0,
            current_leader_epoch=epoch if version >= 9 else -1,
            fetch_offset=offset,
            last_fetched_epoch=-1 if offset == 0 or version < 12 else epoch,
            log_start_offset=0 if version >= 5 else -1,
            partition_max_bytes=10_000,
        )
        request = FetchRequest(
            replica_id=replica if version < 15 else -1,
            replica_state=ReplicaState(replica, known if broker_epoch is None else broker_epoch)
            if version >= 15
            else None,
            max_wait_ms=0,
            max_bytes=100_000,
            session_epoch=-1,
            topics=[FetchTopic("t" if version < 13 else "", self.image.topics["t"].id, [asked])],
        )
        return self.ask(request, version, broker=1).responses[0].partitions[0]


@pytest.fixture
def world() -> WithoutFollowers:
    return WithoutFollowers()


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version(world: WithoutFollowers, version: int) -> None:
    assert world.fetch("t", 0, 0).records == b""  # a consumer
    for replica in (2, 3):
        answer = world.fetch_as(replica, 0, version)
        assert (answer.error_code, answer.high_watermark) == (0, 0)
        assert len(answer.records) > 0
    assert world.fetch_as(2, 1, version).high_watermark == 0
    assert world.fetch_as(3, 1, version).high_watermark == 1
    assert world.read() == [b"a"]


def test_epochs_are_compared(world: WithoutFollowers) -> None:
    world.cluster.controller.move_leader("t", 0, 2)
    world.cluster.controller.move_leader("t", 0, 1)
    world.turns()
    codes = [world.fetch_as(2, 0, 17, epoch=epoch).error_code for epoch in (1, 2, 3)]
    assert codes == [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NONE, ErrorCode.UNKNOWN_LEADER_EPOCH]


def test_who_has_no_replica_or_has_started_anew(world: WithoutFollowers) -> None:
    assert world.fetch_as(4, 0, 17).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert world.fetch_as(4, 0, 8, epoch=-1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    ended = world.image.brokers[2].epoch - 1
    assert world.fetch_as(2, 0, 17, broker_epoch=ended).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.fetch_as(2, 2, 11).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_only_the_leader_answers_followers(world: WithoutFollowers) -> None:
    request = FetchRequest(
        replica_id=3,
        max_bytes=100,
        session_epoch=-1,
        topics=[FetchTopic("t", partitions=[FetchPartition(0, -1, 0, -1, 0, 100)])],
    )
    answer = world.ask(request, 11, broker=2)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_offsets_for_followers_and_for_clients_of_a_new_leader(world: WithoutFollowers) -> None:
    def latest(replica: int) -> tuple[int, int]:
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -1)])]
        answer = world.ask(ListOffsetsRequest(replica_id=replica, topics=asked), 7, broker=1)
        found = answer.topics[0].partitions[0]
        return found.error_code, found.offset

    assert latest(2) == (0, 1)
    assert latest(-1) == (0, 0)
    world.cluster.controller.move_leader("t", 0, 2)
    world.cluster.controller.move_leader("t", 0, 1)
    world.turns()
    assert latest(-1) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    world.fetch_as(2, 0, 17, epoch=2)
    assert world.cluster.peers is not None
    world.cluster.peers.cut = set()
    world.pass_time(3000)
    assert latest(-1) == (0, 1)
