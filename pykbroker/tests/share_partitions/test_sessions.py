"""Share sessions: epochs, their end, and whose they are."""

from __future__ import annotations

import pytest

from pykbroker.share_partitions import sessions
from pykbroker.share_partitions.sessions import ShareMemberKey, ShareSession, ShareSessions
from pykbroker.tests.kit.cluster import Peer
from pykbroker.wire.errors import ErrorCode, KafkaError

ONE, TWO, OTHER = (ShareMemberKey(*each) for each in (("g", "one"), ("g", "two"), ("other", "one")))


class World:
    def __init__(self, slots: int = 10) -> None:
        self.ended: list[ShareMemberKey] = []
        self.sessions = ShareSessions(slots, lambda session: self.ended.append(session.key))

    def refused(self, key: ShareMemberKey, epoch: int) -> ErrorCode:
        with pytest.raises(KafkaError) as error:
            self.sessions.next(key, epoch)
        return error.value.code


def lose(peer: Peer) -> None:
    assert peer.when_lost is not None
    peer.lose()


def test_each_request_has_the_next_epoch() -> None:
    world = World()
    session = world.sessions.begin(ONE, Peer())
    assert world.sessions.next(ONE, 1) is session
    assert world.refused(ONE, 1) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert world.refused(ONE, 3) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert world.sessions.next(ONE, 2) is session
    assert world.sessions.next(ONE, -1) is session
    assert world.refused(TWO, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_epochs_begin_anew_after_the_last_one() -> None:
    world = World()
    session = world.sessions.begin(ONE, Peer())
    session.epoch = 2**31 - 1
    world.sessions.next(ONE, 2**31 - 1)
    assert world.sessions.next(ONE, 1) is session


def test_a_new_session_takes_the_place_of_the_old_one_and_nothing_is_released() -> None:
    world = World()
    before = world.sessions.begin(ONE, Peer())
    after = world.sessions.begin(ONE, Peer())
    assert (before.has_ended, after.has_ended, world.ended, len(world.sessions)) == (True, False, [], 1)
    world.sessions.end(before)
    assert world.sessions.find(ONE) is after


def test_there_are_no_more_sessions_than_slots() -> None:
    world = World(slots=2)
    world.sessions.begin(ONE, Peer())
    world.sessions.begin(TWO, Peer())
    with pytest.raises(KafkaError) as error:
        world.sessions.begin(OTHER, Peer())
    assert error.value.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    world.sessions.begin(ONE, Peer())  # in place of its own


def test_sessions_end_with_their_connection() -> None:
    world, peer, another = World(), Peer(), Peer()
    world.sessions.begin(ONE, peer)
    world.sessions.begin(TWO, another)
    world.sessions.begin(OTHER, peer)
    lose(peer)
    assert (sorted(world.ended), world.sessions.of_group("g"), world.sessions.of_group("other")) == (
        [ONE, OTHER],
        True,
        False,
    )
    assert world.refused(ONE, 1) is ErrorCode.SHARE_SESSION_NOT_FOUND
    world.sessions.begin(ONE, peer)
    assert (len(world.ended), len(world.sessions)) == (3, 1), "by a request that outlived its connection"


def test_a_session_that_moved_to_another_connection_outlives_the_first() -> None:
    world, peer = World(), Peer()
    world.sessions.begin(ONE, peer)
    world.sessions.begin(ONE, Peer())
    if peer.when_lost:
        lose(peer)
    assert (world.ended, world.sessions.of_group("g")) == ([], True)


def test_each_request_begins_with_another_partition() -> None:
    session = ShareSession(ONE, None)
    assert session.in_turn() == []
    session.partitions = dict.fromkeys((b"t", index) for index in range(3))
    seen = set()
    for session.epoch in range(1, 4):
        turn = session.in_turn()
        assert sorted(turn) == [(b"t", 0), (b"t", 1), (b"t", 2)]
        seen.add(turn[0])
    assert len(seen) == 3


def test_all_sessions_have_no_more_partitions_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_IN_ALL", 5)
    world = World()
    first, second, third = (world.sessions.begin(key, Peer()) for key in (ONE, TWO, OTHER))
    for index in (0, 1, 2, 2):
        world.sessions.add(first, (b"t", index))
    for index in (0, 1):
        world.sessions.add(second, (b"t", index))
    with pytest.raises(KafkaError) as refused:
        world.sessions.add(third, (b"t", 0))
    assert refused.value.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert (third.has_ended, world.ended) == (True, [OTHER])
    world.sessions.remove(first, (b"t", 2))
    world.sessions.remove(first, (b"t", 2))
    world.sessions.add(second, (b"t", 2))
    lose(second.connection)  # type: ignore[arg-type]
    world.sessions.add(second, (b"t", 3))
    world.sessions.remove(second, (b"t", 0))
    world.sessions.begin(ONE, Peer())  # in place of the first one
    again = world.sessions.begin(TWO, Peer())
    for index in range(5):
        world.sessions.add(again, (b"t", index))
    with pytest.raises(KafkaError):
        world.sessions.add(again, (b"t", 5))


def test_no_session_has_more_partitions_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_PARTITIONS", 2)
    world = World()
    session = world.sessions.begin(ONE, Peer())
    for index in (0, 1, 1):
        world.sessions.add(session, (b"t", index))
    with pytest.raises(KafkaError):
        world.sessions.add(session, (b"t", 2))
    assert session.has_ended
