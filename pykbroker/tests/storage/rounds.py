"""The rounds of housekeeping over all logs, in the test's own thread and at once."""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.storage.directories.manager import LogManager


def retention_round(manager: LogManager, now_ms: int) -> None:
    """Drop what the logs' settings no longer keep, remove files whose delay is over. Raises KAFKA_STORAGE_ERROR."""
    manager.retain(list(manager.logs.values()), now_ms)
    manager.plan_removals()()


def flush_round(manager: LogManager) -> None:
    """Flush what is due."""
    for log in manager.due_flushes():
        log.flush()


def checkpoint_round(manager: LogManager) -> None:
    """Write the offset checkpoints that have changed since they were last written. Raises KAFKA_STORAGE_ERROR."""
    planned_checkpoints(manager)()


def planned_checkpoints(manager: LogManager) -> Callable[[], None]:
    """The writing of the offset checkpoints with the present values."""
    manager.note_checkpoints(manager.logs.values())
    return manager.plan_checkpoints()
