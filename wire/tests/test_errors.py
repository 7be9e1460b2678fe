"""Error codes against Kafka's own table."""

from __future__ import annotations

import pickle

import pytest

from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.tests.kafka_messages import run_java


@pytest.mark.deep
def test_codes_are_kafkas() -> None:
    ours = [
        f"{code.value}\t{code.name}\t{code.retriable}\t{code.stale_metadata}\t{code.default_message}"
        for code in ErrorCode
    ]
    theirs = [line.replace("\ttrue", "\tTrue").replace("\tfalse", "\tFalse") for line in run_java("ErrorTable", [])]
    assert ours == theirs


def test_message_is_the_given_one_or_the_default() -> None:
    assert KafkaError(ErrorCode.INVALID_PARTITIONS).message == "Number of partitions is below 1."
    error = KafkaError(ErrorCode.INVALID_PARTITIONS, "Zero is too few.")
    assert error.message == "Zero is too few."
    assert str(error) == "INVALID_PARTITIONS: Zero is too few."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_unknown_codes_are_unknown_server_errors() -> None:
    assert error_code(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_code(12345) is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("character", ["a", "é", "€", "😀", "\ud800"])
@pytest.mark.parametrize("count", [1, 8000, 8192, 20_000, 32_767, 100_000])
def test_a_message_has_room_in_every_answer(character: str, count: int) -> None:
    message = KafkaError(ErrorCode.INVALID_REQUEST, character * count).message
    size = len(message.encode("utf-8", "replace"))
    assert size <= 32_767
    assert message == character * count or size > 32_760
