"""A disk in memory that forgets, tears and fails, as real ones do when the power goes or space runs out.

What is written lies in a page cache until it is synced: a file's content by ``sync``, the names in a directory by
``sync_directory``. ``crash`` throws away what was not: for each file a random part of its unsynced writes survives, the
last of them perhaps torn; for each directory the first few of its unsynced creations, renames and removals. Operations
that change something are counted, and any of them can be made to fail or to be the last one before the process dies.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from pykbroker.wire.primitives import Buffer


class ProcessDied(BaseException):
    """The process is killed at this operation."""


class _Inode:
    """A file's bytes: as the process sees them, and as the disk has them."""

    __slots__ = ("content", "durable", "modified_ms", "pending")

    def __init__(self) -> None:
        self.content = bytearray()
        self.durable = b""
        #: Unsynced changes in order: (position, bytes), or (size, None) for a truncation.
        self.pending: list[tuple[int, bytes | None]] = []
        self.modified_ms = 0

    def change(self, position: int, data: bytes | None) -> None:
        self.pending.append((position, data))
        _apply(self.content, position, data)

    def sync(self) -> None:
        self.durable = bytes(self.content)
        self.pending.clear()

    def after_crash(self, rng: Random) -> _Inode:
        """What is left of it: synced content, and a random beginning of the unsynced changes."""
        kept = rng.randint(0, len(self.pending))
        content = bytearray(self.durable)
        for position, data in self.pending[:kept]:
            _apply(content, position, data)
        if kept < len(self.pending):
            position, data = self.pending[kept]
            if data is not None and rng.random() < 0.5:
                _apply(content, position, data[: rng.randrange(len(data) + 1)])
        left = _Inode()
        left.content, left.durable = content, bytes(content)
        return left


def _apply(content: bytearray, position: int, data: bytes | None) -> None:
    if data is None:
        del content[position:]
    size = position + len(data or b"")
    if len(content) < size:
        content.extend(bytes(size - len(content)))
    if data:
        content[position:size] = data


@dataclass(slots=True)
class _NameChange:
    """A change of names: ``path`` is given to ``inode``, moved to ``target``, or, with neither, removed with all below it."""

    path: str
    inode: _Inode | None = None
    target: str = ""
    removes: bool = False

    @property
    def directory(self) -> str:
        """Whose sync makes it last."""
        return posixpath.dirname(self.path)

    @property
    def makes_directory(self) -> bool:
        return self.inode is None and not self.target and not self.removes

    def apply(self, names: _DirectoryEntries) -> None:
        if self.target or self.removes:
            for name in names.below(self.path):
                inode = names.pop(name)
                if self.target:
                    names[self.target + name[len(self.path) :]] = inode
        else:
            names[self.path] = self.inode

    def follow(self, moved: _NameChange) -> None:
        """A directory above was moved, later than this was done but made to last earlier: it is of the same directory still."""
        if _is_in(self.path, moved.path):
            self.path = moved.target + self.path[len(moved.path) :]
        if _is_in(self.target, moved.path):
            self.target = moved.target + self.target[len(moved.path) :]


class _DirectoryEntries:
    """What each name stands for, in the order in which names were made; None is a directory.

    Names below a directory are kept for it, too: a topic is found without a look at all others.
    """

    __slots__ = ("_below", "_inodes")

    def __init__(self, inodes: Iterable[tuple[str, _Inode | None]]) -> None:
        self._inodes: dict[str, _Inode | None] = {}
        #: By each directory that a name lies in: these names, in their order.
        self._below: dict[str, dict[str, None]] = {}
        for path, inode in inodes:
            self[path] = inode

    def __contains__(self, path: str) -> bool:
        return path in self._inodes

    def __setitem__(self, path: str, inode: _Inode | None) -> None:
        if path not in self._inodes:
            for directory in _and_above(path):
                self._below.setdefault(directory, {})[path] = None
        self._inodes[path] = inode

    def get(self, path: str) -> _Inode | None:
        """Return the file of that name; None for a directory and for a name that is not there."""
        return self._inodes.get(path)

    def pop(self, path: str) -> _Inode | None:
        """Remove a name; returns what it stood for."""
        inode = self._inodes.pop(path)
        for directory in _and_above(path):
            names = self._below[directory]
            del names[path]
            if not names:
                del self._below[directory]
        return inode

    def below(self, path: str) -> list[str]:
        """Return a name, where it is there, and all below it, in their order."""
        return list(self._below.get(path, ()))

    def items(self) -> list[tuple[str, _Inode | None]]:
        """Return all names in their order, and what they stand for."""
        return list(self._inodes.items())


def _and_above(path: str) -> Iterator[str]:
    """A name, and the directories that it lies in."""
    yield path
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)
    if path != "/":
        yield "/"


def _is_in(path: str, directory: str) -> bool:
    """Whether ``path`` is ``directory`` or below it."""
    return path == directory or path.startswith(directory + "/")


class SimulatedFile:
    """A file by positions; keeps its inode once used, as an open descriptor does."""

    def __init__(self, disk: SimulatedDisk, path: str) -> None:
        self._disk = disk
        self._inode: _Inode | None = None
        self.path = path

    def _opened(self) -> _Inode:
        if self._inode is None:
            self._inode = self._disk.inode(self.path)
        return self._inode

    def size(self) -> int:
        return len(self._opened().content)

    def pread(self, size: int, position: int) -> bytes:
        return bytes(self._opened().content[position : position + size])

    def pread_cached(self, size: int, position: int) -> bytes | None:
        return None if self._disk.cold else self.pread(size, position)

    def pwrite(self, data: Buffer, position: int) -> None:
        inode = self._opened()

        def partly() -> None:
            inode.change(position, bytes(data[: len(data) // 2]))

        self._disk.operation(f"write {self.path}", partly)
        self._disk.take_room(inode, position + len(data), partly)
        inode.change(position, bytes(data))

    def truncate(self, size: int) -> None:
        inode = self._opened()
        self._disk.operation(f"{'extend' if size > len(inode.content) else 'truncate'} {self.path}")
        self._disk.take_room(inode, size)
        inode.change(size, None)

    def sync(self) -> None:
        inode = self._opened()
        self._disk.operation(f"sync {self.path}")
        inode.sync()

    def rename(self, path: str) -> None:
        self._disk.move(self.path, path)
        self.path = path
        self._disk.renamed()

    def close(self) -> None:
        self._inode = None


class SimulatedDisk:
    """A file system in memory.

    ``fail``: called with the number and the name of each changing operation before it is done; what it returns is
    raised (an OSError, or ProcessDied). An interrupted write leaves its first half.
    """

    def __init__(self) -> None:
        self.operations = 0
        self.fail: Callable[[int, str], BaseException | None] | None = None
        #: How many bytes files may have together, if there is a limit.
        self.capacity: int | None = None
        #: Called when a file has another name: another thread may look just then.
        self.renamed: Callable[[], None] = _is_unobserved
        #: Nothing is in the page cache: every cached read asks for a thread.
        self.cold = False
        self._names = _DirectoryEntries([("/", None)])
        self._durable_names = _DirectoryEntries([("/", None)])
        #: Unsynced changes of names, in order.
        self._pending: list[_NameChange] = []

    # -- faults -------------------------------------------------------------------------------------------------------

    def operation(self, name: str, partly: Callable[[], None] | None = None) -> None:
        """Count an operation and let it fail where asked for; ``partly`` does a part of it first."""
        self.operations += 1
        error = self.fail(self.operations, name) if self.fail is not None else None
        if error is not None:
            if partly is not None:
                partly()
            raise error

    @property
    def used_bytes(self) -> int:
        """Bytes of all files that have a name."""
        return sum(len(inode.content) for inode in {inode for _, inode in self._names.items()} if inode is not None)

    def take_room(self, inode: _Inode, end: int, partly: Callable[[], None] | None = None) -> None:
        """Let a file become so long where the disk has room for it; else ``partly`` is done and ENOSPC raised."""
        more = end - len(inode.content)
        if self.capacity is not None and more > 0 and self.used_bytes + more > self.capacity:
            if partly is not None and self.used_bytes + more // 2 <= self.capacity:
                partly()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def crash(self, rng: Random) -> None:
        """Lose power: only what was synced is sure to be left."""
        names = _DirectoryEntries(self._durable_names.items())
        counts: dict[str, int] = {}
        for change in self._pending:
            counts[change.directory] = counts.get(change.directory, 0) + 1
        keep = {directory: rng.randint(0, count) for directory, count in counts.items()}
        lost: list[str] = []
        for change in self._pending:
            if any(_is_in(change.directory, directory) for directory in lost):
                continue  # of a new directory that is lost: one of that name, if there is one, is an older one
            if keep[change.directory] > 0:
                keep[change.directory] -= 1
                change.apply(names)
            elif change.makes_directory:
                lost.append(change.path)
        left: dict[_Inode, _Inode] = {}
        for path, inode in names.items():
            if inode is not None:
                names[path] = left.setdefault(inode, inode.after_crash(rng))
        self._names = _DirectoryEntries(each for each in names.items() if _has_parents(each[0], names))
        self._durable_names = _DirectoryEntries(self._names.items())
        self._pending.clear()

    # -- names --------------------------------------------------------------------------------------------------------

    def inode(self, path: str) -> _Inode:
        """The file of that name. Raises FileNotFoundError."""
        inode = self._names.get(path)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return inode

    def _change(self, change: _NameChange) -> None:
        change.apply(self._names)
        self._pending.append(change)

    def _set(self, path: str, inode: _Inode | None) -> None:
        if posixpath.dirname(path) not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._change(_NameChange(path, inode))

    def open(self, path: str) -> SimulatedFile:
        return SimulatedFile(self, path)

    def exists(self, path: str) -> bool:
        return path in self._names

    def list(self, path: str) -> list[str]:
        if path not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if self._names.get(path) is not None:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        above = path.rstrip("/") + "/"
        below = [name[len(above) :] for name in self._names.below(path)]
        return [name for name in below if name and "/" not in name]

    def size(self, path: str) -> int:
        return len(self.inode(path).content)

    def modified_ms(self, path: str) -> int:
        return self.inode(path).modified_ms

    def create(self, path: str) -> None:
        self.operation(f"create {path}")
        inode = self._names.get(path)
        if inode is None:
            self._set(path, _Inode())
        else:
            inode.change(0, None)

    def make_directory(self, path: str, *, sync: bool = False, private: bool = False) -> None:
        if path in self._names:
            return
        parent = posixpath.dirname(path)
        self.make_directory(parent, sync=sync)
        self.operation(f"make directory {path}")
        self._set(path, None)
        if sync:
            self.sync_directory(parent)

    def read(self, path: str) -> bytes:
        return bytes(self.inode(path).content)

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self.create(path)
        inode = self.inode(path)
        self.operation(f"write {path}", lambda: inode.change(0, data[: len(data) // 2]))
        self.take_room(inode, len(data))
        inode.change(0, data)
        if sync:
            self.operation(f"sync {path}")
            inode.sync()

    def rename(self, old: str, new: str) -> None:
        self.move(old, new)
        self.renamed()

    def move(self, old: str, new: str) -> None:
        """``rename``, before anybody looks."""
        if old not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), old)
        self.operation(f"rename {old} {new}")
        self._change(_NameChange(old, target=new))

    def remove(self, path: str) -> None:
        if path in self._names:
            self.operation(f"remove {path}")
            self._change(_NameChange(path, removes=True))

    def remove_tree(self, path: str) -> None:
        self.operation(f"remove tree {path}")
        self._change(_NameChange(path, removes=True))

    def sync_directory(self, path: str) -> None:
        self.operation(f"sync directory {path}")
        rest: list[_NameChange] = []
        for change in self._pending:
            if change.directory != path:
                rest.append(change)
                continue
            change.apply(self._durable_names)
            if change.target:
                for earlier in rest:
                    if earlier.path.startswith(change.path) or earlier.target.startswith(change.path):
                        earlier.follow(change)
        self._pending = rest

    def free_bytes(self, path: str) -> tuple[int, int]:
        if self.capacity is None:
            return 2**40, 2**39
        return self.capacity, max(self.capacity - self.used_bytes, 0)


def _is_unobserved() -> None:
    pass


def _has_parents(path: str, names: _DirectoryEntries) -> bool:
    """A name whose directory was lost is lost."""
    while path != "/":
        path = posixpath.dirname(path)
        if path not in names:
            return False
    return True
