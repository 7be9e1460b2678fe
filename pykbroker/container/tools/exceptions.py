"""Errors as programs in Java name them."""

from __future__ import annotations

from typing import Final

from pykbroker.wire.errors import ErrorCode, KafkaError, error_code

_PACKAGE: Final = "org.apache.kafka.common.errors"
#: Those whose class is called otherwise than the error.
_OTHERWISE: Final = {
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
}


def exception_class(code: int) -> str:
    """The class of the error's exception, with its package."""
    error = error_code(code)
    name = error.name.removesuffix("_EXCEPTION").title().replace("_", "") + "Exception"
    return f"{_PACKAGE}.{_OTHERWISE.get(error, name)}"


def exception(code: int, message: str | None) -> str:
    """An exception as it is printed."""
    return f"{exception_class(code)}: {KafkaError(error_code(code), message or None).message}"
