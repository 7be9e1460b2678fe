from __future__ import annotations

import pytest

from pykbroker.quorum.lifecycle import BrokerState, HeartbeatAnswer, NextAsk, RegistrationLifecycle
from pykbroker.wire.errors import ErrorCode

FENCED = HeartbeatAnswer(0)
CAUGHT_UP = HeartbeatAnswer(0, is_caught_up=True)
UNFENCED = HeartbeatAnswer(0, is_caught_up=True, is_fenced=False)
SHUT_DOWN = HeartbeatAnswer(0, is_caught_up=True, should_shut_down=True)
DEADLINE = 60_000


def lifecycle() -> RegistrationLifecycle:
    return RegistrationLifecycle(4, DEADLINE)


def running() -> RegistrationLifecycle:
    broker = lifecycle()
    broker.ready = True
    broker.registered(0, 7, 0)
    for answer in (CAUGHT_UP, UNFENCED):
        broker.heartbeat_answered(answer, 0)
    assert broker.state is BrokerState.RUNNING
    return broker


def test_from_the_start_to_the_end() -> None:
    broker = lifecycle()
    assert broker.registered(0, 7, 0) is NextAsk.AT_ONCE
    assert broker.epoch == 7
    assert (broker.heartbeat_answered(FENCED, 0), broker.state) == (NextAsk.BACK_OFF, BrokerState.STARTING)
    assert (broker.heartbeat_answered(CAUGHT_UP, 0), broker.state) == (NextAsk.AT_ONCE, BrokerState.RECOVERY)
    assert (broker.heartbeat_answered(CAUGHT_UP, 0), broker.state) == (NextAsk.BACK_OFF, BrokerState.RECOVERY)
    broker.ready = True
    assert (broker.heartbeat_answered(UNFENCED, 0), broker.state) == (NextAsk.INTERVAL, BrokerState.RUNNING)
    assert broker.begin_shutdown(DEADLINE) is NextAsk.AT_ONCE
    assert broker.wants_shutdown
    assert broker.heartbeat_answered(UNFENCED, 0) is NextAsk.BACK_OFF
    assert (broker.heartbeat_answered(SHUT_DOWN, 0), broker.state) == (NextAsk.NEVER, BrokerState.SHUTTING_DOWN)
    assert not broker.reason


def test_a_broker_that_is_not_registered_may_end_at_once() -> None:
    broker = lifecycle()
    assert broker.begin_shutdown(DEADLINE) is NextAsk.NEVER
    assert broker.state is BrokerState.SHUTTING_DOWN


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "another cluster"),
        (ErrorCode.UNSUPPORTED_VERSION, "finalized"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "ClusterAction"),
        (ErrorCode.INVALID_REGISTRATION, "refuse"),
    ],
)
def test_registrations_that_nothing_makes_better(code: ErrorCode, why: str) -> None:
    broker = lifecycle()
    assert broker.registered(code, -1, 0) is NextAsk.NEVER
    assert why in broker.reason


@pytest.mark.parametrize("code", [ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.NOT_CONTROLLER])
def test_others_are_repeated_until_the_deadline(code: ErrorCode) -> None:
    broker = lifecycle()
    assert broker.registered(code, -1, DEADLINE - 1) is NextAsk.BACK_OFF
    assert broker.registered(code, -1, DEADLINE) is NextAsk.NEVER
    assert bool("node.id 4" in broker.reason) is (code is ErrorCode.DUPLICATE_BROKER_REGISTRATION)


def test_controllers_that_are_not_reached() -> None:
    broker = lifecycle()
    assert broker.failed("no route", DEADLINE - 1) is NextAsk.BACK_OFF
    assert broker.failed("no route", DEADLINE) is NextAsk.NEVER
    assert broker.reason == "no route"
    later = running()
    assert later.failed("no route", 9 * DEADLINE) is NextAsk.BACK_OFF
    assert later.state is BrokerState.RUNNING


@pytest.mark.parametrize("code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED])
def test_a_registration_that_is_not_known_any_more_is_made_again(code: ErrorCode) -> None:
    broker = running()
    assert broker.heartbeat_answered(HeartbeatAnswer(code), 9 * DEADLINE) is NextAsk.AT_ONCE
    assert not broker.is_registered
    assert broker.registered(ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1, 9 * DEADLINE) is NextAsk.BACK_OFF
    broker.registered(0, 9, 0)
    broker.heartbeat_answered(CAUGHT_UP, 0)
    broker.heartbeat_answered(UNFENCED, 0)
    assert (broker.epoch, broker.state) == (9, BrokerState.RUNNING)
    broker.begin_shutdown(DEADLINE)
    assert broker.heartbeat_answered(HeartbeatAnswer(code), 0) is NextAsk.NEVER


def test_a_shutdown_ends_without_controllers_that_answer_no_more() -> None:
    broker = running()
    broker.begin_shutdown(DEADLINE)
    assert broker.failed("silence", DEADLINE - 1) is NextAsk.BACK_OFF
    assert broker.wants_shutdown
    assert broker.failed("silence", DEADLINE) is NextAsk.NEVER
    assert (broker.state, broker.reason) == (BrokerState.SHUTTING_DOWN, "")


def test_a_heartbeat_that_fails_is_repeated() -> None:
    broker = running()
    assert broker.heartbeat_answered(HeartbeatAnswer(ErrorCode.NOT_CONTROLLER), 9 * DEADLINE) is NextAsk.BACK_OFF
    assert broker.is_registered


def test_a_running_broker_that_is_fenced_asks_soon() -> None:
    broker = running()
    assert broker.heartbeat_answered(CAUGHT_UP, 0) is NextAsk.BACK_OFF
    assert broker.state is BrokerState.RUNNING


def test_controllers_that_forget_each_registration_are_asked_with_pauses() -> None:
    broker = running()
    stale = HeartbeatAnswer(ErrorCode.STALE_BROKER_EPOCH)
    assert broker.heartbeat_answered(stale, 0) is NextAsk.AT_ONCE
    for epoch in (8, 9):
        broker.registered(0, epoch, 0)
        assert broker.heartbeat_answered(stale, 0) is NextAsk.BACK_OFF
    broker.registered(0, 10, 0)
    broker.heartbeat_answered(FENCED, 0)
    assert broker.heartbeat_answered(stale, 0) is NextAsk.AT_ONCE


def test_a_registration_without_an_epoch_is_none() -> None:
    broker = lifecycle()
    assert broker.registered(0, -1, 0) is NextAsk.BACK_OFF
    assert not broker.is_registered
