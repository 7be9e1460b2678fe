"""Resets a running node, and returns it to snapshots of its data. All belongs to the node's loop."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pykbroker.runtime.temporary import TESTS, TemporaryFolder
from pykbroker.storage.names import CONTROL_SOCKET

if TYPE_CHECKING:
    from pykbroker.process.node import Node, Prepare
    from pykbroker.steered.disk import DiskFaults

#: The lock and the socket belong to the process; a compaction under way, in a process of its own, is not data.
_OF_THE_PROCESS: Final = (".lock", CONTROL_SOCKET)
_UNFINISHED: Final = ".cleaned"


class Snapshots:
    """``folder`` holds what is temporary; without one it is made for the first snapshot. With ``permanent`` the node's data
    is none of it, and is never reset. ``seed`` creates the topics and records that are there after a reset. ``disk`` has
    the disk faults, which a reset ends.
    """

    def __init__(
        self,
        node: Node,
        folder: TemporaryFolder | None,
        *,
        permanent: bool,
        seed: Prepare | None = None,
        disk: DiskFaults | None = None,
    ) -> None:
        self._node = node
        self._directory = node.directory
        self._folder = folder
        #: Whether the data outlives the process, so that reset and restore are refused.
        self.permanent = permanent
        self._seed = seed
        self._disk = disk
        self._kept: dict[str, Path] = {}
        #: Resets and snapshots come one after the other.
        self._changing = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        """The names of the snapshots."""
        return sorted(self._kept)

    async def reset(self) -> None:
        """Start again without data, except for the seed. Raises RuntimeError for permanent data, and StartFailed."""
        self._check_may_forget("reset")
        async with self._changing:
            await self._go_on_with(self._temporary().new(), self._seed)

    async def take(self, name: str) -> None:
        """Save all data of one moment under ``name``, in place of an earlier snapshot of that name. Raises OSError."""
        async with self._changing:
            target = self._temporary().new()
            try:
                async with self._node.unchanging():
                    _copy(self._directory, target)
            except BaseException:
                self._temporary().remove_later(target)
                raise
            before, self._kept[name] = self._kept.get(name), target
            if before is not None:
                self._temporary().remove_later(before)

    async def restore(self, name: str) -> None:
        """Start again with the data of a snapshot. Raises LookupError for an unknown name, RuntimeError for permanent data,
        OSError, and StartFailed.
        """
        async with self._changing:
            kept = self._kept.get(name)
            if kept is None:
                there = f"there are {', '.join(map(repr, self.names))}" if self._kept else "none was made"
                raise LookupError(f"there is no snapshot {name!r}; {there}")
            self._check_may_forget("restore")
            data = self._temporary().new()
            await asyncio.to_thread(_copy, kept, data)
            await self._go_on_with(data, None)

    def forget(self) -> None:
        """Remove all snapshots."""
        while self._kept:
            self._temporary().remove_later(self._kept.popitem()[1])

    def close(self) -> None:
        """Remove all that is temporary; returns when it is gone."""
        self._kept.clear()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.remove()

    def disown(self) -> None:
        """In a forked child: leave all that is temporary to the parent."""
        if self._folder is not None:
            self._folder.disown()

    async def _go_on_with(self, data: Path, seed: Prepare | None) -> None:
        if self._disk is not None:
            self._disk.heal()
        former = self._temporary().new()
        await self._node.begin_again(partial(_exchange, self._directory, data, former), seed)
        self._temporary().remove_later(former)

    def _check_may_forget(self, what: str) -> None:
        if self.permanent:
            raise RuntimeError(
                f"{what}() removes all data, but this broker has a permanent data_dir; leave data_dir out"
            )

    def _temporary(self) -> TemporaryFolder:
        if self._folder is None:
            self._folder = TemporaryFolder(TESTS)
        return self._folder


def _exchange(directory: Path, data: Path, former: Path) -> None:
    """Put ``data`` in the place of ``directory``, whose contents go to ``former``, an empty folder. The control socket stays."""
    directory.rename(former)
    data.rename(directory)
    if (former / CONTROL_SOCKET).is_socket():
        (former / CONTROL_SOCKET).rename(directory / CONTROL_SOCKET)


def _copy(directory: Path, target: Path) -> None:
    shutil.copytree(directory, target, ignore=_not_data, copy_function=_copy_file, dirs_exist_ok=True)


def _not_data(_directory: str, names: list[str]) -> set[str]:
    return {name for name in names if name in _OF_THE_PROCESS or name.endswith(_UNFINISHED)}


def _copy_file(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # removed by a process that is none of ours
        shutil.copyfile(source, target)
