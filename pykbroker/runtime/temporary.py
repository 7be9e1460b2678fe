"""Temporary folders that are removed with their process; the next process removes those of a killed one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Final

TESTS: Final = "pykbroker-test-"
"""The prefix of folders of brokers for tests."""
LAKE: Final = "pykbroker-lake-"
"""The prefix of folders for Spark's files during a command of ``pykbroker lake``."""
_UNFINISHED: Final = "pykbroker-new-"
#: A file in the folder that its owner holds locked; the system releases the lock when the process ends, however it ends.
_OWNED: Final = ".owned"
_LOCK_FLAGS: Final = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class TemporaryFolder:
    """A folder that exists until ``remove``, with numbered folders inside."""

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        sweep(prefix, parent)
        # Under another name until it is locked: a concurrent sweep would remove it as one without an owner.
        made = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
        self._lock = os.open(made / _OWNED, _LOCK_FLAGS, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.rename(parent / made.name.replace(_UNFINISHED, prefix))
        self._made = 0
        self._removing: list[threading.Thread] = []

    def new(self) -> Path:
        """Create an empty folder inside."""
        self._made += 1
        made = self.path / str(self._made)
        made.mkdir()
        return made

    def remove_later(self, folder: Path) -> None:
        """Remove a folder inside, in the background."""
        removing = threading.Thread(target=shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, daemon=True)
        removing.start()
        self._removing = [each for each in self._removing if each.is_alive()] + [removing]

    def disown(self) -> None:
        """In a forked child: leave the folder to the parent, also when the child lives longer."""
        os.close(self._lock)

    def remove(self) -> None:
        """Remove the folder; returns when it is gone."""
        for removing in self._removing:
            removing.join()
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(prefix: str, parent: Path) -> None:
    """Remove the folders with this prefix whose owner was killed, and which are this user's: anybody may make one in a shared
    folder, with links in it.
    """
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # removed meanwhile, another user's, a link, or still owned
            _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(opened).st_uid != os.geteuid():
            return
        # A folder without the file is left of an interrupted removal.
        lock = os.open(_OWNED, _LOCK_FLAGS, 0o600, dir_fd=opened)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
    finally:
        os.close(opened)
