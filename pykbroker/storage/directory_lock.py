# ruff: noqa: PTH103 - names are strings: pathlib doubles the cost
"""The lock of a log directory."""

from __future__ import annotations

import errno
import fcntl
import os

from pykbroker.runtime.shared_folders import check_not_planted


class DirectoryLock:
    """The ``.lock`` file of a log directory, locked as by Apache Kafka, so that neither opens what the other uses.

    A POSIX record lock: the system releases it when the process ends; it does not exclude the process itself.
    """

    def __init__(self, directory: str) -> None:
        """Take the lock; creates the directory if missing. Raises BlockingIOError if another process has it, and OSError for
        a directory that another user made in a shared folder, whose links would lead the broker's files anywhere.
        """
        check_not_planted(directory)
        os.makedirs(directory, exist_ok=True)
        self._fd = os.open(f"{directory}/.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise BlockingIOError(error.errno, "another process uses this directory", directory) from None
            raise

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)
