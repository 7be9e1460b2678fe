"""Errors by the names of Java's exception classes."""

from __future__ import annotations

from typing import Final

from pykbroker.wire.errors import ErrorCode, KafkaError, error_code

_PACKAGE: Final = "org.apache.kafka.common.errors"
#: Errors whose class has another name.
_OTHERWISE: Final = {
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
}


def exception_class(code: int) -> str:
    """Return the full class name of the error's exception."""
    error = error_code(code)
    name = error.name.removesuffix("_EXCEPTION").title().replace("_", "") + "Exception"
    return f"{_PACKAGE}.{_OTHERWISE.get(error, name)}"


def exception(code: int, message: str | None) -> str:
    """Return an exception as Java prints it."""
    return f"{exception_class(code)}: {KafkaError(error_code(code), message or None).message}"
