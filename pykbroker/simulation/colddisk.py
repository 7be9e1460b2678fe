"""A real disk whose page cache can be emptied, and whose cold reads last as long as a test wants.

After ``chill`` nothing is in memory but what is read or written since. A cold read in a thread waits for ``gate``; one in
the thread that owns the disk, the loop's, does not wait, so that no test hangs, but is noted in ``stalls``: there must be none.
"""

from __future__ import annotations

import threading
import traceback
from threading import get_ident
from typing import TYPE_CHECKING

from pykbroker.storage.real_disk import RealDisk, RealFile
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.disk import File

_PAGE = 4096
#: Where the length and the times of a file are kept: a page like others, and not one of its content.
_INODE = -1


class ColdFile(RealFile):
    """A file of a :class:`ColdDisk`."""

    __slots__ = ("_cold",)

    def __init__(self, disk: ColdDisk, path: str) -> None:
        super().__init__(disk, path)
        self._cold = disk

    def size(self) -> int:
        self._cold.wait_for(self.path, _INODE * _PAGE, 1)
        return super().size()

    def pread(self, size: int, position: int) -> bytes:
        self._cold.wait_for(self.path, position, size)
        return super().pread(size, position)

    def pread_cached(self, size: int, position: int) -> bytes | bytearray | None:
        return super().pread_cached(size, position) if self._cold.is_warm(self.path, position, size) else None

    def pwrite(self, data: Buffer, position: int) -> None:
        super().pwrite(data, position)
        self._cold.keep(self.path, position, len(data))


class ColdDisk(RealDisk):
    """See the module. Nothing is synced."""

    def __init__(self) -> None:
        super().__init__(durable=False)
        #: Cold reads in threads go on when it is set.
        self.gate = threading.Event()
        self.gate.set()
        #: Cold reads that wait for the gate now.
        self.waiting = 0
        #: Where the loop's thread had to wait for the disk: the innermost calls.
        self.stalls: list[str] = []
        self._chilled = False
        self._warm: dict[str, set[int]] = {}

    def chill(self) -> None:
        """Empty the page cache."""
        self._chilled = True
        self._warm.clear()

    def is_warm(self, path: str, position: int, size: int) -> bool:
        """Whether all these bytes are in memory."""
        return not self._chilled or self._warm.get(path, set()).issuperset(_pages(position, size))

    def keep(self, path: str, position: int, size: int) -> None:
        """These bytes are in memory from now on."""
        self._warm.setdefault(path, set()).update(_pages(position, size))

    def wait_for(self, path: str, position: int, size: int) -> None:
        """Bring these bytes into memory."""
        if self.is_warm(path, position, size):
            return
        if get_ident() == self.owner:
            calls = traceback.extract_stack(limit=8)[:-2]
            self.stalls.append(f"{path}: " + " > ".join(call.name for call in calls))
        else:
            self.waiting += 1
            self.gate.wait()
            self.waiting -= 1
        self.keep(path, position, size)

    def _wait_for_inode(self, path: str) -> None:
        self.wait_for(path, _INODE * _PAGE, 1)

    # -- what reads ---------------------------------------------------------------------------------------------------

    def open(self, path: str) -> File:
        return ColdFile(self, path)

    def list(self, path: str) -> list[str]:
        self._wait_for_inode(path)
        return super().list(path)

    def size(self, path: str) -> int:
        self._wait_for_inode(path)
        return super().size(path)

    def modified_ms(self, path: str) -> int:
        self._wait_for_inode(path)
        return super().modified_ms(path)

    def read(self, path: str) -> bytes:
        self.wait_for(path, 0, max(super().size(path), 1))
        return super().read(path)

    # -- what leaves things in memory -------------------------------------------------------------------------------------

    def create(self, path: str) -> None:
        super().create(path)
        self.keep(path, _INODE * _PAGE, 1)

    def make_directory(self, path: str, *, sync: bool = False, private: bool = False) -> None:
        super().make_directory(path, sync=sync, private=private)
        self.keep(path, _INODE * _PAGE, 1)

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        super().write(path, data, sync=sync)
        self.keep(path, _INODE * _PAGE, len(data) + _PAGE)

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        for path in [path for path in self._warm if path == old or path.startswith(old + "/")]:
            self._warm[new + path[len(old) :]] = self._warm.pop(path)


def _pages(position: int, size: int) -> range:
    return range(position // _PAGE, (position + max(size, 1) - 1) // _PAGE + 1)
