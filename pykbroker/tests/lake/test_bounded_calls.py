from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from pykbroker.lake.bounded_calls import CallTimedOut, called, ended_within


def test_a_call_that_does_not_return_is_left_alone() -> None:
    never = threading.Event()
    with pytest.raises(CallTimedOut):
        ended_within(0.05, never.wait)
    never.set()


def test_what_a_call_returns_and_raises_is_passed_on() -> None:
    assert ended_within(60, int, "7") == 7
    assert ended_within(60, list) == []
    with pytest.raises(ValueError, match="invalid literal"):
        ended_within(60, int, "seven")


def test_a_call_is_repeated_while_its_error_is_retriable() -> None:
    errors = [KafkaError(KafkaError._TIMED_OUT, retriable=True), KafkaError(KafkaError._TIMED_OUT, retriable=True)]
    limits = []

    def step(timeout_s: float) -> str:
        limits.append(timeout_s)
        if errors:
            raise KafkaException(errors.pop())
        return "done"

    assert called(60, step) == "done"
    assert limits == [5.0, 5.0, 5.0]
    errors.append(KafkaError(KafkaError._TIMED_OUT, retriable=True))
    with pytest.raises(KafkaException):
        called(0, step)
