"""Names of exceptions."""

from __future__ import annotations

import pytest

from pykbroker.container.tools.exceptions import exception, exception_class
from pykbroker.wire.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "UnknownTopicOrPartitionException"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "InvalidTopicException"),
        (ErrorCode.KAFKA_STORAGE_ERROR, "KafkaStorageException"),
        (ErrorCode.REQUEST_TIMED_OUT, "TimeoutException"),
    ],
)
def test_classes(code: ErrorCode, name: str) -> None:
    assert exception_class(code) == f"org.apache.kafka.common.errors.{name}"


def test_an_exception_is_printed_with_what_was_said() -> None:
    assert exception(ErrorCode.LOG_DIR_NOT_FOUND, "no /b").endswith("LogDirNotFoundException: no /b")
    assert exception(ErrorCode.LOG_DIR_NOT_FOUND, None).endswith("is not found in the broker config.")
