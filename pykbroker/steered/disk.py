"""Disk faults: a wrapper of the real disk that can be full or fail with errors."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk, File
    from pykbroker.wire.primitives import Buffer

_READS = ("pread", "pread_cached", "read", "list", "size")
_WRITES = ("pwrite", "write", "create", "make_directory", "rename", "truncate", "remove", "remove_tree")
_SYNCS = ("sync", "sync_directory")
#: Operations that need disk space.
_GROWS = ("pwrite", "write", "create", "make_directory")
OPERATIONS = {"read": _READS, "write": _WRITES, "sync": _SYNCS, "grow": _GROWS, "any": _READS + _WRITES + _SYNCS}


class BadDiskFault(ValueError):
    """A disk fault that cannot act; the text says what to write instead."""


@dataclass(slots=True, eq=False)
class DiskFault:
    """The operations that fail, the error, the paths, and the most failures. ``fired`` counts them."""

    operations: tuple[str, ...]
    error: int
    path: str
    times: int | None
    fired: int = 0


class DiskFaults:
    """The disk faults of a test. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[DiskFault] = []

    def fill(self) -> DiskFault:
        """Fill the disk until ``heal``: operations that need space fail with ENOSPC."""
        return self.fail("grow", error="ENOSPC")

    def fail(
        self, operation: str = "any", *, error: str = "EIO", path: str = "*", times: int | None = None
    ) -> DiskFault:
        """Let ``read``, ``write``, ``sync``, ``grow`` or ``any`` fail with a system error, for paths such as ``*/t-0/*.log``,
        ``times`` times or until ``heal``. Raises BadDiskFault.
        """
        if operation not in OPERATIONS:
            raise BadDiskFault(f"{operation!r} is not a disk operation; write one of {', '.join(OPERATIONS)}")
        number: Any = getattr(errno, error, None)
        if not (error.startswith("E") and isinstance(number, int)):
            raise BadDiskFault(f"{error!r} is not a system error; write its name, such as EIO or ENOSPC")
        if times is not None and times < 1:
            raise BadDiskFault(f"times is {times}; write a number from 1 on, or leave it out")
        fault = DiskFault(OPERATIONS[operation], number, path, times)
        with self._lock:
            self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """End all disk faults. Log directories that went offline meanwhile are online after a restart."""
        with self._lock:
            self._faults.clear()

    def wrap(self, disk: Disk) -> Disk:
        """The disk with these faults."""
        return _FaultyDisk(disk, self)

    def check(self, operation: str, path: str) -> None:
        """Raises OSError if the operation is to fail."""
        if not self._faults:
            return
        with self._lock:
            for fault in self._faults:
                over = fault.times is not None and fault.fired >= fault.times
                if not over and operation in fault.operations and fnmatch(path, fault.path):
                    fault.fired += 1
                    raise OSError(fault.error, os.strerror(fault.error), path)


class _Faulty:
    """Delegates every operation after checking the faults."""

    def __init__(self, real: Any, faults: DiskFaults) -> None:
        self._real = real
        self._faults = faults


class _FaultyFile(_Faulty):
    """A ``File``."""

    @property
    def path(self) -> str:
        path: str = self._real.path
        return path

    @path.setter
    def path(self, path: str) -> None:
        self._real.path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def pread(self, size: int, position: int) -> Any:
        self._faults.check("pread", self.path)
        return self._real.pread(size, position)

    def pread_cached(self, size: int, position: int) -> Any:
        self._faults.check("pread_cached", self.path)
        return self._real.pread_cached(size, position)

    def pwrite(self, data: Buffer, position: int) -> None:
        self._faults.check("pwrite", self.path)
        self._real.pwrite(data, position)

    def truncate(self, size: int) -> None:
        self._faults.check("truncate", self.path)
        self._real.truncate(size)

    def sync(self) -> None:
        self._faults.check("sync", self.path)
        self._real.sync()

    def rename(self, path: str) -> None:
        self._faults.check("rename", self.path)
        self._real.rename(path)


class _FaultyDisk(_Faulty):
    """A ``Disk``: every operation on a path checks the faults under its own name."""

    def open(self, path: str) -> File:
        file: Any = _FaultyFile(self._real.open(path), self._faults)
        return file  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if name not in OPERATIONS["any"]:
            return real

        def at_fault(path: str, *args: Any, **named: Any) -> Any:
            self._faults.check(name, path)
            return real(path, *args, **named)

        return at_fault
