"""The file system as an injected object: storage uses these interfaces, and tests put other disks in their place.

``real_disk.py`` implements them on the operating system. Reads and writes are positional, without a file cursor, so a read
in a worker thread and an append in the loop do not interfere. Only types import this module: a start does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.wire.primitives import Buffer


class File(Protocol):
    """One file, by positions. Operations raise OSError."""

    path: str

    def size(self) -> int:
        """Length in bytes."""
        ...

    def pread(self, size: int, position: int) -> bytes:
        """Up to ``size`` bytes from ``position``; fewer only at the end of the file. May wait for the disk."""
        ...

    def pread_cached(self, size: int, position: int) -> bytes | bytearray | None:
        """As ``pread``, but None where the bytes are not all in memory and reading would wait for the disk."""
        ...

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of ``data`` at ``position``, or raise; after an error any part may have been written."""
        ...

    def truncate(self, size: int) -> None:
        """Cut (or extend with zeros) to ``size`` bytes."""
        ...

    def sync(self) -> None:
        """Return when the file's bytes and length are on the disk."""
        ...

    def rename(self, path: str) -> None:
        """Rename the file, as ``Disk.rename``. Other threads may use it meanwhile: its name on the disk and its path here
        change together.
        """
        ...

    def close(self) -> None:
        """Close the descriptor. A later operation opens the file again."""
        ...


class Disk(Protocol):
    """A file system. Paths are strings; operations raise OSError."""

    def open(self, path: str) -> File:
        """The file ``path``, for reading and writing; it must exist (``create``) when it is used."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists."""
        ...

    def list(self, path: str) -> list[str]:
        """Names in a directory, in no order."""
        ...

    def size(self, path: str) -> int:
        """Bytes of a file."""
        ...

    def modified_ms(self, path: str) -> int:
        """When the file was last written, in milliseconds since the epoch."""
        ...

    def create(self, path: str) -> None:
        """Create an empty file; an existing one is truncated."""
        ...

    def make_directory(self, path: str, *, sync: bool = False, private: bool = False) -> None:
        """Create a directory and its parents; an existing one is unchanged. With ``sync`` their names are synced; a ``private``
        one is for this user alone, whatever the umask.
        """
        ...

    def read(self, path: str) -> bytes:
        """The whole of a small file."""
        ...

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Replace a small file as a whole; with ``sync`` it is on the disk afterwards."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Move a file or directory, replacing a file of the new name at once."""
        ...

    def remove(self, path: str) -> None:
        """Delete a file; one that is absent is no error."""
        ...

    def remove_tree(self, path: str) -> None:
        """Delete a directory with its content; of a link, the link alone."""
        ...

    def sync_directory(self, path: str) -> None:
        """Sync the directory's names: creations, renames and removals."""
        ...

    def free_bytes(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes of the volume that holds ``path``."""
        ...
