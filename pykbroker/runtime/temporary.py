"""A temporary folder that goes with its process, even where that was killed: the next one sweeps up after it."""

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
"""How the names of folders begin that brokers of tests have."""
LAKE: Final = "pykbroker-lake-"
"""And those of Spark's files while a command of ``pykbroker lake`` runs."""
_UNFINISHED: Final = "pykbroker-new-"
#: Held locked in the folder as long as its owner lives; the system lets the lock go with the process, however it ends.
_OWNED: Final = ".owned"


class TemporaryFolder:
    """A folder that is there from its making to ``remove``, with numbered folders inside."""

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        sweep(prefix, parent)
        # Under another name until it is locked: who sweeps up at this very moment would take it for one without an owner.
        made = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
        self._lock = os.open(made / _OWNED, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.rename(parent / made.name.replace(_UNFINISHED, prefix))
        self._made = 0
        self._removing: list[threading.Thread] = []

    def new(self) -> Path:
        """One folder more inside, empty."""
        self._made += 1
        made = self.path / str(self._made)
        made.mkdir()
        return made

    def remove_later(self, folder: Path) -> None:
        """Remove a folder inside, however much is in it, without anybody waiting for that."""
        removing = threading.Thread(target=shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, daemon=True)
        removing.start()
        self._removing = [each for each in self._removing if each.is_alive()] + [removing]

    def remove(self) -> None:
        """Remove all of it; come back when it is gone."""
        for removing in self._removing:
            removing.join()
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(prefix: str, parent: Path) -> None:
    """Remove the folders of this kind whose owner was killed."""
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # gone meanwhile, somebody else's, or still owned
            # One without the file is what a removal that was cut off has left.
            lock = os.open(folder / _OWNED, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
