"""Sessions of brokers in other processes, by the heartbeats and the time that they are given."""

from __future__ import annotations

from typing import Any

from pykbroker.controller.broker_sessions import BrokerSessions, ControlState
from pykbroker.metadata.image import BrokerImage
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest

TIMEOUT = 9000
FENCED, UNFENCED, STOPPING, ENDS = ControlState


def broker(broker_id: int = 1, epoch: int = 5, *, fenced: bool = True) -> BrokerImage:
    return BrokerImage(broker_id, epoch, b"i" * 16, {}, {}, None, fenced)


def beat(offset: int = 5, **given: Any) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(1, 5, offset, **given)


def sessions() -> BrokerSessions:
    made = BrokerSessions(TIMEOUT)
    made.register(1, 5, 5)
    return made


def test_a_session_begins_with_a_heartbeat_and_lasts_as_long_as_the_timeout() -> None:
    made = sessions()
    assert not made.is_valid(1, 0)
    made.contact(1, 5, 1000)
    assert made.is_valid(1, 1000 + TIMEOUT)
    assert made.stale(1000 + TIMEOUT) is None
    assert not made.is_valid(1, 1001 + TIMEOUT)
    assert made.stale(1001 + TIMEOUT) == made.stale(1001 + TIMEOUT) == (1, 5)
    made.end(1, 5, 1001 + TIMEOUT)
    assert made.stale(1001 + TIMEOUT) is None


def test_a_heartbeat_that_comes_while_a_session_is_ended_begins_another() -> None:
    made = sessions()
    made.contact(1, 5, 0)
    assert made.stale(1 + TIMEOUT) == (1, 5)
    made.contact(1, 5, 1 + TIMEOUT)
    made.end(1, 5, 1 + TIMEOUT)
    assert made.is_valid(1, 1 + TIMEOUT)


def test_a_heartbeat_of_another_epoch_prolongs_nothing() -> None:
    made = sessions()
    made.contact(1, 4, 1000)
    made.contact(2, 5, 1000)
    assert not made.is_valid(1, 1000)
    assert 2 not in made


def test_an_amended_registration_keeps_the_session_and_a_new_incarnation_has_none() -> None:
    made = sessions()
    made.contact(1, 5, 0)
    made.register(1, 5, 9)
    assert made.is_valid(1, 1)
    assert made.registered_at(1) == 9
    made.register(1, 12, 12)
    assert not made.is_valid(1, 1)


def test_at_the_controllers_start_each_broker_that_is_not_fenced_has_a_full_session() -> None:
    made = BrokerSessions(TIMEOUT)
    made.resume(broker(1, fenced=False), 100)
    made.resume(broker(2), 100)
    assert made.stale(101 + TIMEOUT) == (1, 5)
    made.end(1, 5, 101 + TIMEOUT)
    assert made.stale(10**9) is None


def test_a_broker_is_unfenced_when_it_knows_its_own_registration() -> None:
    made = sessions()
    assert made.decide(broker(), beat(4), lambda: False) == (FENCED, FENCED)
    assert made.decide(broker(), beat(5, want_fence=True), lambda: False) == (FENCED, FENCED)
    assert made.decide(broker(), beat(5), lambda: False) == (FENCED, UNFENCED)
    assert made.decide(broker(fenced=False), beat(5), lambda: True) == (UNFENCED, UNFENCED)
    assert made.decide(broker(fenced=False), beat(5, want_fence=True), lambda: True) == (UNFENCED, FENCED)


def test_who_leads_nothing_may_stop_at_once() -> None:
    made = sessions()
    stop = beat(want_shut_down=True)
    assert made.decide(broker(), stop, lambda: False) == (FENCED, ENDS)
    assert made.decide(broker(fenced=False), stop, lambda: False) == (UNFENCED, ENDS)
    assert made.decide(broker(fenced=False), beat(want_shut_down=True, want_fence=True), lambda: True) == (
        UNFENCED,
        ENDS,
    )


def test_who_leads_stops_when_the_others_know_its_successors() -> None:
    made = sessions()
    made.register(2, 6, 6)
    made.contact(1, 5, 0)
    made.contact(2, 6, 0)
    now, stop = broker(fenced=False), beat(want_shut_down=True)
    assert made.decide(now, stop, lambda: True) == (UNFENCED, STOPPING)
    made.settle(1, STOPPING, 5, 20)
    made.settle(1, STOPPING, 5, 30)  # the first one counts
    assert made.decide(now, stop, lambda: True) == (STOPPING, STOPPING)
    made.settle(2, UNFENCED, 19, 30)
    assert made.decide(now, stop, lambda: False) == (STOPPING, STOPPING)
    made.settle(2, UNFENCED, 20, 30)
    assert made.decide(now, stop, lambda: False) == (STOPPING, ENDS)
    made.settle(1, ENDS, 5, 40)
    assert made.decide(broker(), stop, lambda: False) == (FENCED, ENDS)


def test_a_stopping_broker_whose_session_ends_is_fenced_like_others() -> None:
    made = sessions()
    made.contact(1, 5, 0)
    made.settle(1, STOPPING, 5, 20)
    assert made.stale(TIMEOUT + 1) == (1, 5)
    made.end(1, 5, TIMEOUT + 1)
    assert made.decide(broker(), beat(), lambda: False) == (FENCED, UNFENCED)


def test_an_unregistered_broker_has_no_session() -> None:
    made = sessions()
    made.contact(1, 5, 0)
    made.forget(1)
    made.forget(1)
    assert 1 not in made
    made.settle(1, UNFENCED, 5, 5)
    assert made.stale(10**9) is None
