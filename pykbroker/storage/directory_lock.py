# ruff: noqa: PTH103 - names are strings: pathlib doubles the cost
"""The lock of a log directory."""

from __future__ import annotations

import errno
import fcntl
import os

from pykbroker.runtime.shared_folders import check_not_planted

#: The directories that brokers of this process use, by real path.
_held: dict[str, DirectoryLock] = {}
os.register_at_fork(after_in_child=_held.clear)  # record locks stay with the parent


class DirectoryLock:
    """The ``.lock`` file of a log directory, locked as by Apache Kafka, so that neither opens what the other uses.

    A POSIX record lock: the system releases it when the process ends. It does not exclude the process itself, and is lost when
    any descriptor of the file is closed, so the process's own directories are held here, by their real paths.
    """

    def __init__(self, directory: str) -> None:
        """Take the lock; creates the directory if missing. Raises BlockingIOError if this or another process has it, and OSError
        for a directory that another user made in a shared folder, whose links would lead the broker's files anywhere.
        """
        check_not_planted(directory)
        os.makedirs(directory, exist_ok=True)
        self._path = os.path.realpath(directory)
        if _held.setdefault(self._path, self) is not self:
            raise BlockingIOError(errno.EAGAIN, "this process uses this directory already", directory)
        try:
            self._fd = _locked(f"{directory}/.lock")
        except OSError as error:
            del _held[self._path]
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise BlockingIOError(error.errno, "another process uses this directory", directory) from None
            raise

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)
        _held.pop(self._path, None)


def _locked(path: str) -> int:
    """A descriptor of the file, locked. Raises OSError."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd
