"""Where the files of one run lie: in their own folders or, if the container's root is read-only, in one that can be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

#: For what runs in the container. It is writable unless the root is read-only.
RUN: Final = Path("/run/pykbroker")
#: Folders that engines, or `--tmpfs`, make writable in a read-only container, in this order.
OTHERS: Final = (RUN, Path("/tmp"), Path("/dev/shm"))  # noqa: S108 - files are created exclusively, for this user

_REFUSED: Final = (errno.EROFS, errno.EACCES, errno.EPERM)


def write(content: str, path: Path, others: Iterable[Path] = OTHERS) -> Path:
    """Write a file that only the container's user can read, since it may hold passwords, and return where it lies.

    It replaces that of an earlier start, perhaps of another user. Raises OSError if no folder can be written.
    """
    refused: OSError | None = None
    for place in _candidates(path, others):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(content)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            refused = refused or error
        else:
            return place
    assert refused is not None
    raise refused


def find(path: Path, others: Iterable[Path] = OTHERS) -> Path:
    """Return where ``write`` has put a file; ``path`` itself if it has not."""
    return next((place for place in _candidates(path, others) if place.exists()), path)


def remove(path: Path, others: Iterable[Path] = OTHERS) -> None:
    """Remove the file of an earlier run, wherever it lies."""
    for place in _candidates(path, others):
        with suppress(OSError):
            place.unlink(missing_ok=True)


def _candidates(path: Path, others: Iterable[Path]) -> Iterator[Path]:
    yield path
    for folder in others:
        place = folder / (path.name if folder == RUN else f"pykbroker-{path.name}")  # the others are not ours alone
        if place != path:
            yield place
