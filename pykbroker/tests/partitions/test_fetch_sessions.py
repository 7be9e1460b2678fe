"""Fetch sessions (KIP-227): how many there are, who makes room for whom, what a request adds and takes out."""

from __future__ import annotations

import random

import pytest

from pykbroker.partitions.fetch_sessions import FetchSessions
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

EVICTION_MS = 1000
ID = bytes(range(16))


class World:
    def __init__(self, slots: int = 2) -> None:
        self.clock = ManualClock()
        self.runtime = Runtime(self.clock, random.Random(1))
        self.sessions = FetchSessions(self.runtime, slots=slots, eviction_ms=EVICTION_MS)

    def begin(
        self, session=None, *indexes: int, version: int = 13, forget: tuple[int, ...] = (), epoch: int | None = None
    ):
        """The session after a request: a new one, or the next of ``session``."""
        topics = [FetchTopic(topic="t", topic_id=ID, partitions=[FetchPartition(partition=i) for i in indexes])]
        forgotten = [ForgottenTopic(topic="t", topic_id=ID, partitions=list(forget))] if forget else []
        request = FetchRequest(topics=topics if indexes else [], forgotten_topics_data=forgotten, session_epoch=0)
        if session is not None:
            request.session_id, request.session_epoch = session.id, session.epoch if epoch is None else epoch
        return self.sessions.begin(request, version)


def test_the_slots_bound_the_sessions() -> None:
    world = World(slots=2)
    assert world.begin() is not None
    assert world.begin() is not None
    assert world.begin() is None
    assert len(world.sessions) == 2


@pytest.mark.parametrize(("idle_ms", "makes_room"), [(EVICTION_MS - 1, False), (EVICTION_MS, True)])
def test_the_least_recently_used_makes_room_once_it_was_idle_for_long(idle_ms: int, makes_room: bool) -> None:
    world = World(slots=2)
    first, second = world.begin(None, 0), world.begin(None, 0)
    world.clock.advance(1)
    assert world.begin(first) is first
    world.clock.advance(idle_ms - 1)
    third = world.begin()
    assert (third is not None) == makes_room
    assert len(world.sessions) == 2
    assert world.begin(first) is first
    if makes_room:
        with pytest.raises(KafkaError) as gone:
            world.begin(second)
        assert gone.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(("version", "topic"), [(12, "t"), (13, ID)])
def test_topics_go_by_name_and_from_version_13_by_id(version: int, topic: str | bytes) -> None:
    world = World()
    session = world.begin(None, 0, 1, version=version)
    assert list(session.items) == [(topic, 0), (topic, 1)]
    kept = session.items[topic, 1]
    world.begin(session, 1, 2, version=version, forget=(0, 7))
    assert list(session.items) == [(topic, 1), (topic, 2)]
    assert session.items[topic, 1] is kept
    with pytest.raises(KafkaError) as refused:
        world.begin(session, version=25 - version)
    assert refused.value.code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_epochs_wrap_to_1() -> None:
    world = World()
    session = world.begin(None, 0)
    session.epoch = 0x7FFFFFFF
    world.begin(session)
    assert session.epoch == 1


def test_a_final_or_first_epoch_ends_the_session_named() -> None:
    world = World(slots=1)
    session = world.begin()
    again = world.begin(session, epoch=0)
    assert again is not None
    assert world.begin(again, epoch=-1) is None
    assert len(world.sessions) == 0


def test_a_session_without_partitions_ends_with_the_next_request() -> None:
    world = World()
    session = world.begin(None, 0)
    assert world.begin(session, forget=(0,)) is None
    assert session.closed
    assert len(world.sessions) == 0
    with pytest.raises(KafkaError) as gone:
        world.begin(session)
    assert gone.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_slots_there_are_no_sessions() -> None:
    world = World(slots=0)
    assert world.begin() is None
    assert len(world.sessions) == 0


def test_a_session_has_many_partitions_while_all_sessions_together_have_no_more_than_their_slots() -> None:
    world = World(slots=4)
    large = world.begin(None, *range(10_000))
    assert len(large.items) == 10_000
    assert world.begin(large, *range(10_000, 15_000)) is large
    second = world.begin(None, *range(5_000))
    assert len(second.items) == 5_000
    assert world.begin(None, *range(5_001)) is None, "it would be the 20,001st"
    with pytest.raises(KafkaError) as refused:
        world.begin(second, 5_000)
    assert refused.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert world.begin(None, *range(5_000)) is not None, "each may have so many"


def test_sessions_are_marked_to_be_looked_at_again_in_turns() -> None:
    """All that are there, but for one that was closed meanwhile."""
    world = World(slots=6)
    opened = [world.begin(None, *range(200)) for _ in range(6)]
    for session in opened:
        session.ready.clear()
    slices, queue = world.runtime.slices, world.runtime.wake_queue
    slices.weight_of_a_turn = 3
    world.sessions.look_again()
    assert [len(each.ready) for each in opened] == [200, 200, 0, 0, 0, 0]
    world.begin(opened[5], forget=tuple(range(200)))
    opened[5].ready.clear()
    turns = 0
    while len(slices):
        queue.run()
        turns += 1
    assert turns == 2
    assert [len(each.ready) for each in opened] == [200] * 5 + [0]
