# ruff: noqa: PTH102, PTH105, PTH108, PTH110, PTH112, PTH114, PTH116, PTH120, PTH123, PTH208 - names are strings: pathlib doubles the cost
"""The disk of the operating system; nothing else in the broker accesses data files.

A file has an open descriptor only while it is used: the disk keeps a bounded number of descriptors open and closes the
least recently used ones, so that thousands of segments need only a few hundred.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from threading import get_ident
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.storage.disk import File
    from pykbroker.wire.primitives import Buffer

_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)
#: Descriptors held open at once, by default.
MAX_OPEN = 1024


class RealFile:
    """A file of the operating system, with a descriptor that comes and goes."""

    __slots__ = ("_disk", "_pins", "fd", "path", "used")

    def __init__(self, disk: RealDisk, path: str) -> None:
        self._disk = disk
        self.fd = -1
        self._pins = 0
        self.path = path
        self.used = True

    def _descriptor(self) -> int:
        """The open descriptor, for the owner of the disk; it stays open until that thread opens or closes another file."""
        self.used = True
        fd = self.fd
        return fd if fd >= 0 else self._disk.opened(self)

    @contextlib.contextmanager
    def _borrowed(self) -> Iterator[int]:
        """The open descriptor for a worker thread, which stays open meanwhile. If too many are open, it is one for this use
        alone, since only the owner may close others.
        """
        with self._disk.lock:
            alone = self.fd < 0 and self._disk.is_full and get_ident() != self._disk.owner
            if not alone:
                fd = self._descriptor()
                self._pins += 1
            else:
                fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        if alone:
            try:
                yield fd
            finally:
                os.close(fd)
            return
        try:
            yield fd
        finally:
            with self._disk.lock:
                self._pins -= 1
                if self._disk.given_up:
                    self.close()

    def size(self) -> int:
        with self._disk.lock:
            return os.fstat(self.fd).st_size if self.fd >= 0 else os.stat(self.path).st_size

    def pread(self, size: int, position: int) -> bytes:
        if get_ident() == self._disk.owner:
            return os.pread(self._descriptor(), size, position)
        with self._borrowed() as fd:
            return os.pread(fd, size, position)

    def pread_cached(self, size: int, position: int) -> bytes | bytearray | None:
        if not self._disk.nowait or get_ident() != self._disk.owner:
            return self.pread(size, position)
        self.used, fd = True, self.fd
        if fd < 0:
            fd = self._descriptor()
        buffer = bytearray(size)
        try:
            count = os.preadv(fd, (buffer,), position, _NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            # Such file systems (tmpfs, some network ones) do not report it; most of them are memory.
            self._disk.nowait = False
            return self.pread(size, position)
        return buffer if count == size else None

    def pwrite(self, data: Buffer, position: int) -> None:
        if get_ident() == self._disk.owner:
            self.used, fd = True, self.fd
            if fd < 0:
                fd = self._descriptor()
            written = os.pwrite(fd, data, position)
            if written != len(data):
                _write_rest(fd, data, position, written)
        else:
            with self._borrowed() as fd:
                _write_rest(fd, data, position, 0)

    def truncate(self, size: int) -> None:
        with self._borrowed() as fd:
            os.ftruncate(fd, size)

    def sync(self) -> None:
        if self._disk.durable:
            with self._borrowed() as fd:
                os.fsync(fd)

    def rename(self, path: str) -> None:
        with self._disk.lock:
            self._disk.rename(self.path, path)
            self.path = path

    def close(self) -> None:
        with self._disk.lock:
            if self.fd >= 0 and self._pins == 0:
                os.close(self.fd)
                self.fd = -1
                self._disk.handles.pop(self, None)

    @property
    def evictable(self) -> bool:
        return self._pins == 0


def _write_rest(fd: int, data: Buffer, position: int, written: int) -> None:
    """Write the rest after a short write, which either succeeds or raises the reason."""
    with memoryview(data) as view:
        while written < len(view):
            count = os.pwrite(fd, view[written:], position + written)
            if count == 0:
                raise OSError(errno.EIO, "the file system took no more bytes")
            written += count


class RealDisk:
    """The operating system's files.

    ``max_open`` bounds the open descriptors. Only one thread closes those beyond it, the ``owner`` (which made the disk or
    called ``own`` last), so it may use a descriptor without a lock. With ``durable=False`` nothing is synced, for data that
    may be lost with the process.
    """

    def __init__(self, *, max_open: int = MAX_OPEN, durable: bool = True) -> None:
        self.durable = durable
        self.nowait = _NOWAIT != 0
        self.lock = threading.RLock()
        self.handles: dict[RealFile, None] = {}
        self.owner = get_ident()
        self.given_up = False
        self._max_open = max_open

    def own(self) -> None:
        """Make the calling thread, which runs the loop, the owner."""
        self.owner = get_ident()

    def open(self, path: str) -> File:
        return RealFile(self, path)

    def give_up(self) -> None:
        """Close every descriptor and open none again: later operations of threads fail with EBADF. For data that is about
        to be removed.
        """
        with self.lock:
            self.given_up = True
            for file in list(self.handles):
                file.close()

    @property
    def is_full(self) -> bool:
        """Whether ``max_open`` descriptors are open."""
        return len(self.handles) >= self._max_open

    def opened(self, file: RealFile) -> int:
        """Open the descriptor of ``file``; the owner closes others that were not used since its last round."""
        with self.lock:
            if file.fd >= 0:
                # another thread has opened it meanwhile
                return file.fd
            if self.given_up:
                raise OSError(errno.EBADF, "the broker gave this data up", file.path)
            if self.is_full and get_ident() == self.owner:
                self._evict()
            file.fd = os.open(file.path, os.O_RDWR | os.O_CLOEXEC)
            self.handles[file] = None
            return file.fd

    def _evict(self) -> None:
        """Close descriptors by the second-chance rule: one that was used since the last round stays for another."""
        for _ in range(2 * len(self.handles)):
            if len(self.handles) < self._max_open:
                return
            file = next(iter(self.handles))
            if file.used or not file.evictable:
                file.used = False
                del self.handles[file]
                self.handles[file] = None
            else:
                file.close()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list(self, path: str) -> list[str]:
        return os.listdir(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def create(self, path: str) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644))

    def make_directory(self, path: str, *, sync: bool = False, private: bool = False) -> None:
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        self.make_directory(parent, sync=sync)
        os.mkdir(path, 0o700 if private else 0o777)
        if sync:
            self.sync_directory(parent)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        with open(path, "wb") as file:
            file.write(data)
            if sync and self.durable:
                file.flush()
                os.fsync(file.fileno())

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_tree(self, path: str) -> None:
        if os.path.islink(path):  # as in Apache Kafka: the target of a link is not the broker's
            os.unlink(path)
            return
        import shutil

        shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        if not self.durable:
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def free_bytes(self, path: str) -> tuple[int, int]:
        volume = os.statvfs(path)
        return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize
