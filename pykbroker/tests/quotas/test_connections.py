"""How many connections a broker takes, and how fast: the rules of Kafka's ConnectionQuotas."""

from __future__ import annotations

import pytest

from pykbroker.quotas.connections import (
    ConnectionLimits,
    ConnectionQuotas,
    ConnectionThrottled,
    ListenerLimits,
    TooManyConnections,
)
from pykbroker.runtime.rates import Windows

WINDOWS = Windows(2, 1000)
BROKERS, CLIENTS = "BROKERS", "CLIENTS"
TWO = {BROKERS: ListenerLimits(), CLIENTS: ListenerLimits()}
A, B = "10.0.0.1", "10.0.0.2"


def quotas(
    listeners: dict[str, ListenerLimits] = TWO, inside: tuple[tuple[str, str], ...] = (), **limits: object
) -> ConnectionQuotas:
    return ConnectionQuotas(ConnectionLimits(listeners, BROKERS, **limits), WINDOWS, inside)  # type: ignore[arg-type]


def test_without_limits_everybody_comes_in_at_once() -> None:
    free = quotas()
    for _ in range(1000):
        assert free.arrived(CLIENTS, 0) == 0
        assert free.has_room(CLIENTS)
        free.take(CLIENTS, A, 0)
    assert free.excess() == 0


def test_a_listener_is_full_until_one_leaves() -> None:
    full = quotas({BROKERS: ListenerLimits(), CLIENTS: ListenerLimits(connections=2)})
    for _ in range(2):
        assert full.has_room(CLIENTS)
        full.take(CLIENTS, A, 0)
    assert not full.has_room(CLIENTS)
    assert full.has_room(BROKERS)
    full.left(CLIENTS, A)
    assert full.has_room(CLIENTS)


def test_a_full_broker_has_room_for_brokers_and_others_go_for_them() -> None:
    full = quotas(connections=1)
    full.take(CLIENTS, A, 0)
    assert not full.has_room(CLIENTS)
    assert full.has_room(BROKERS)
    full.take(BROKERS, B, 0)
    assert full.excess() == 1
    full.left(CLIENTS, A)
    assert full.excess() == 0
    full.take(BROKERS, B, 0)
    assert full.excess() == 0, "of brokers nobody goes"


def test_a_broker_with_one_listener_protects_nobody() -> None:
    alone = quotas({BROKERS: ListenerLimits()}, inside=((BROKERS, A),), connections=1)
    assert not alone.is_protected(BROKERS)
    assert not alone.has_room(BROKERS)


def test_a_limit_that_is_lowered_sends_away_who_is_too_many() -> None:
    lowered = quotas(inside=((CLIENTS, A),) * 3 + ((BROKERS, A),))
    lowered.limits = lowered.limits._replace(connections=2)
    assert lowered.excess() == 2


def test_an_address_has_its_own_limit_or_that_of_all() -> None:
    each = quotas(per_address={None: 1, B: 2})
    each.take(CLIENTS, A, 0)
    with pytest.raises(TooManyConnections, match="maximum of 1 connections"):
        each.take(BROKERS, A, 0)
    each.take(CLIENTS, B, 0)
    each.take(CLIENTS, B, 0)
    with pytest.raises(TooManyConnections, match="maximum of 2 connections"):
        each.take(CLIENTS, B, 0)
    each.left(CLIENTS, B)
    each.take(CLIENTS, B, 0)


@pytest.mark.parametrize("whose", ["listener", "broker"])
def test_a_rate_makes_the_next_wait_until_it_holds_again(whose: str) -> None:
    rate = 10
    slow = (
        quotas({BROKERS: ListenerLimits(), CLIENTS: ListenerLimits(rate=rate)})
        if whose == "listener"
        else quotas(rate=rate)
    )
    assert [slow.arrived(CLIENTS, 0) for _ in range(11)] == [0] * 10 + [100]
    assert slow.arrived(BROKERS, 0) == 0
    assert slow.arrived(CLIENTS, 2100) == 0, "what was long ago does not count"


def test_nobody_waits_longer_than_a_window() -> None:
    slow = quotas(rate=1)
    assert [slow.arrived(CLIENTS, 0) for _ in range(5)] == [0, 1000, 1000, 1000, 1000]
    assert quotas(rate=0).arrived(CLIENTS, 0) == 1000


def test_the_longer_of_two_waits_counts() -> None:
    slow = quotas({BROKERS: ListenerLimits(), CLIENTS: ListenerLimits(rate=5)}, rate=10)
    assert [slow.arrived(CLIENTS, 0) for _ in range(6)][-1] == 200


def test_who_connects_too_often_is_told_for_how_long_and_does_not_count() -> None:
    often = quotas(rate_per_address={None: 5, B: 10}, rate=6)
    for _ in range(5):
        assert often.arrived(CLIENTS, 0) == 0
        often.take(CLIENTS, A, 0)
    for _ in range(3):
        assert often.arrived(CLIENTS, 0) == 0, "those that were refused are not in the broker's rate"
        with pytest.raises(ConnectionThrottled) as thrown:
            often.take(CLIENTS, A, 0)
        assert thrown.value.ms == 200
    often.take(CLIENTS, B, 0)
    assert often.excess() == 0
    assert often.rates(0) == {CLIENTS: 5.0}


def test_a_limit_of_an_address_that_is_gone_holds_it_no_more() -> None:
    often = quotas(rate_per_address={A: 1})
    often.take(CLIENTS, A, 0)
    with pytest.raises(ConnectionThrottled):
        often.take(CLIENTS, A, 0)
    often.limits = often.limits._replace(rate_per_address={})
    often.take(CLIENTS, A, 0)
