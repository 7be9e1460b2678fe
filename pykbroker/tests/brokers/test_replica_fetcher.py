"""Followers whose leader answers at once, or not as it should, and whose disk is full: they go on, and not at full speed."""

from __future__ import annotations

import errno
from itertools import pairwise
from typing import Any

import pytest

from pykbroker.partitions.following import FollowedPartition
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.brokers.test_replica_manager import LAG_MS, OwnCopies
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)


def asked(world: OwnCopies) -> list[Message]:
    """What brokers ask each other from now on."""
    peers, requests = world.cluster.peers, []
    assert peers is not None
    ask = peers.ask

    def noted(sender: int, node_id: int, request: Message, version: int) -> Deferred[Message]:
        requests.append(request)
        return ask(sender, node_id, request, version)

    peers.ask = noted  # type: ignore[method-assign]
    return requests


@pytest.mark.parametrize(
    "settings",
    [
        {"replica_fetch_wait_max_ms": "0"},
        {"replica_fetch_min_bytes": "0"},
        {"max_incremental_fetch_session_cache_slots": "0"},
        {"max_incremental_fetch_session_cache_slots": "1"},
    ],
)
def test_a_leader_that_answers_at_once_is_asked_a_bounded_number_of_times(settings: dict[str, str]) -> None:
    world = OwnCopies(**settings)
    requests = asked(world)
    for _ in range(10):
        world.clock.advance(50)
        world.turns(200)
    assert 0 < len(requests) < 10 * 2 * 12  # of two followers
    code = world.produce(b"a")
    world.pass_time(100, step_ms=50)
    assert code.value == 0
    assert world.copies() == [[(0, b"a")]] * 3


def test_a_leader_that_does_not_know_it_yet_is_asked_again_soon(world: OwnCopies) -> None:
    """And more and more seldom: after 20, 40, 80 ms, up to replica.fetch.backoff.ms."""
    peers, refused = world.cluster.peers, []
    assert peers is not None
    ask = peers.ask

    def refusing(sender: int, node_id: int, request: Message, version: int) -> Deferred[Message]:
        if sender != 2 or not isinstance(request, FetchRequest):
            return ask(sender, node_id, request, version)
        refused.append(world.clock.monotonic())
        data = [PartitionData(each.partition, ErrorCode.UNKNOWN_LEADER_EPOCH) for each in request.topics[0].partitions]
        return Deferred.completed(
            FetchResponse(responses=[FetchableTopicResponse(topic_id=request.topics[0].topic_id, partitions=data)])
        )

    peers.ask = refusing  # type: ignore[method-assign]
    assert world.produce(b"a", acks=1).value == 0
    world.pass_time(10_000, step_ms=10)
    pauses = [round(1000 * (after - before)) for before, after in pairwise(refused)]
    assert pauses[:6] == pytest.approx([20, 40, 80, 160, 320, 640], abs=10)  # of the clock
    assert pauses[6:] == pytest.approx([1000] * len(pauses[6:]), abs=10)
    assert len(pauses) > 10
    peers.ask = ask  # type: ignore[method-assign]
    world.pass_time(2000)
    assert world.copies() == [[(0, b"a")]] * 3


@pytest.mark.parametrize("code", [ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH])
def test_a_session_that_the_leader_does_not_have_is_begun_anew_at_once(world: OwnCopies, code: ErrorCode) -> None:
    peers, sessions = world.cluster.peers, []
    assert peers is not None
    ask = peers.ask

    def refusing(sender: int, node_id: int, request: Message, version: int) -> Deferred[Message]:
        if sender == 2 and isinstance(request, FetchRequest):
            sessions.append((request.session_id, request.session_epoch))
            if len(sessions) == 1:
                return Deferred.completed(FetchResponse(error_code=code))
        return ask(sender, node_id, request, version)

    peers.ask = refusing  # type: ignore[method-assign]
    assert world.produced(b"a") == 0
    assert sessions[0][0] != 0
    assert sessions[1] == (0, 0)


def test_a_fetch_that_fails_as_none_should_is_repeated(world: OwnCopies, caplog: pytest.LogCaptureFixture) -> None:
    peers = world.cluster.peers
    assert peers is not None
    ask = peers.ask
    peers.ask = lambda *_: Deferred.failed(ValueError("on purpose"))  # type: ignore[method-assign,assignment]
    world.pass_time(1000)
    peers.ask = ask  # type: ignore[method-assign]
    world.pass_time(2000)
    assert "ValueError: on purpose" in caplog.text
    assert world.produced(b"a") == 0


def test_an_append_that_fails_as_none_should_rests_one_partition(
    world: OwnCopies, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    append = FollowedPartition.append

    def fails(followed: FollowedPartition, data: Any) -> int:
        if data.records:
            raise ValueError("on purpose")
        return append(followed, data)

    monkeypatch.setattr(FollowedPartition, "append", fails)
    world.produce(b"a")
    world.turns()
    monkeypatch.undo()
    world.pass_time(2000)
    assert "ValueError: on purpose" in caplog.text
    assert world.copies() == [[(0, b"a")]] * 3
    assert world.produced(b"b") == 0


def test_a_replica_whose_disk_is_full_while_it_is_cut_follows_when_there_is_room(world: OwnCopies) -> None:
    peers = world.cluster.peers
    assert peers is not None
    assert world.produced(b"a") == 0
    peers.cut = {(2, 1), (3, 1), (1, 2), (1, 3)}
    world.produce(b"lost", acks=1)
    world.turns()
    world.cluster.controller.move_leader("t", 0, 2)
    world.disk.fail = lambda _, what: OSError(errno.ENOSPC, "full") if "/data/1/" in what and "write" in what else None
    peers.cut = set()
    world.turns()
    world.produce(b"b")
    world.turns()
    assert world.on(1).log_end_offset == 1
    world.disk.fail = None
    world.pass_time(LAG_MS)
    assert world.produced(b"c") == 0
    assert world.isr == [1, 2, 3]
    assert world.copies() == [[(0, b"a"), (1, b"b"), (2, b"c")]] * 3


def test_a_replica_whose_log_directory_is_offline_follows_no_more(
    world: OwnCopies, caplog: pytest.LogCaptureFixture
) -> None:
    world.cluster.brokers[3].logs.directories.all[0].directory.failed(OSError(errno.EIO, "on purpose"), "a test")
    world.produce(b"a")
    world.pass_time(LAG_MS * 2)
    assert world.isr == [1, 2]
    assert world.produced(b"b") == 0
    assert caplog.text.count("cannot append what its leader sent") == 1


@pytest.fixture
def world() -> OwnCopies:
    return OwnCopies()


@pytest.mark.parametrize("end", [1, -1])
def test_a_leader_that_has_nothing_cut_off_is_asked_more_and_more_seldom(world: OwnCopies, end: int) -> None:
    """It says that both logs part where this one ends, or before anything begins."""
    assert world.produced(b"a") == 0
    peers, answers = world.cluster.peers, []
    assert peers is not None
    ask = peers.ask

    def parted(sender: int, node_id: int, request: Message, version: int) -> Deferred[Message]:
        if sender != 2 or not isinstance(request, FetchRequest):
            return ask(sender, node_id, request, version)
        topic = world.on(2)
        answers.append(request)
        data = PartitionData(topic.index, high_watermark=1, diverging_epoch=EpochEndOffset(topic.leader_epoch, end))
        return Deferred.completed(
            FetchResponse(responses=[FetchableTopicResponse(topic_id=topic.topic_id, partitions=[data])])
        )

    peers.ask = parted  # type: ignore[method-assign]
    world.pass_time(5000, step_ms=10)
    assert 3 < len(answers) < 20
    assert world.copies() == [[(0, b"a")]] * 3
    peers.ask = ask  # type: ignore[method-assign]
    assert world.produce(b"b", acks=1).value == 0
    world.pass_time(2000)
    assert world.copies() == [[(0, b"a"), (1, b"b")]] * 3
