"""The process's loggers as BROKER_LOGGER resources (KIP-412): Python's loggers under Kafka's level names."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pykbroker.runtime.levels import LEVELS
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.controller.config_alterations import Change

ROOT: Final = "root"


def levels() -> dict[str, str]:
    """The levels of the root logger, and of every existing logger and its parents."""
    return {ROOT: _level_name(logging.root), **{name: _level_name(logger) for name, logger in _loggers().items()}}


class LogLevels:
    """The levels that a cluster has altered. Loggers are of the process, so they have their former levels after it."""

    def __init__(self) -> None:
        self._before: dict[logging.Logger, int] = {}

    def alter(self, changes: Iterable[Change], *, validate_only: bool = False) -> None:
        """Set (or with DELETE inherit) levels, all or none; they do not survive a restart. Raises KafkaError INVALID_REQUEST
        for an operation or a removal that loggers do not have, INVALID_CONFIG for a logger or a level that does not exist.
        """
        from pykbroker.controller.config_alterations import Operation

        changes = list(changes)
        for change in changes:
            _check(change)
        if validate_only:
            return
        for name, operation, value in changes:
            logger = logging.getLogger(None if name == ROOT else name)
            self._before.setdefault(logger, logger.level)
            logger.setLevel(logging.NOTSET if operation == Operation.DELETE else LEVELS[value or ""])

    def restore(self) -> None:
        """Give all altered loggers their former levels."""
        while self._before:
            logger, level = self._before.popitem()
            logger.setLevel(level)


def _check(change: Change) -> None:
    from pykbroker.controller.config_alterations import Operation

    name, operation, value = change
    if operation in (Operation.APPEND, Operation.SUBTRACT):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"{Operation(operation).name} operation is not allowed for the BROKER_LOGGER resource",
        )
    if name != ROOT and name not in _loggers():
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if operation == Operation.DELETE:
        if name == ROOT:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Removing the log level of the {ROOT} logger is not allowed")
    elif value not in LEVELS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}",
        )


def _loggers() -> dict[str, logging.Logger]:
    """All loggers, those of packages included, whose level their modules inherit."""
    return {name: logging.getLogger(name) for name in sorted(logging.root.manager.loggerDict)}


def _level_name(logger: logging.Logger) -> str:
    """The name of the highest level that is not above the logger's own."""
    level = logger.getEffectiveLevel()
    return next((name for name, number in reversed(LEVELS.items()) if number <= level), "TRACE")
