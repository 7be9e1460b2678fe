"""Brokers in a thread of this process, over a temporary folder or one that stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.control import SOCKET
from pykbroker.process.node import Node
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.temporary import TESTS, TemporaryFolder
from pykbroker.runtime.waits import Deferred
from pykbroker.steered.clock import ManualTime
from pykbroker.steered.disk import DiskFaults
from pykbroker.steered.loop import LoopThread, RunningLoop

if TYPE_CHECKING:
    import asyncio

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.releases.release import Release
    from pykbroker.seeding.seed import Seed

T = TypeVar("T")


class Embedded:
    """A Node on a loop of its own, which ``reset`` and ``restore`` start again with other data."""

    def __init__(
        self,
        name: str,
        settings: dict[str, str],
        brokers: int,
        data_dir: Path | None,
        dispatcher: Dispatcher,
        release: Release | None = None,
    ) -> None:
        self.disk = DiskFaults()
        #: The topics and records at the start and after each reset.
        self.seed: Seed | None = None
        #: The manual clock, if there is one.
        self.time: ManualTime | None = None
        self._settings = settings
        self._brokers = brokers
        self._kept = data_dir
        self._dispatcher = dispatcher
        self._release = release
        self._thread: LoopThread | RunningLoop = LoopThread(name)
        self._temporary: TemporaryFolder | None = None
        self._directory: Path | None = None
        self._node: Node | None = None
        self._snapshots: dict[str, Path] = {}
        #: Called on the loop, before ``reset`` and ``restore`` discard the cluster, and when a cluster has started.
        self.ending: Callable[[], None] = lambda: None
        self.begun: Callable[[Node], None] = lambda _: None

    @classmethod
    def of_node(cls, node: Node, loop: asyncio.AbstractEventLoop, folder: Path | None) -> Self:
        """A node that already runs, on a loop that starts and stops it. ``folder`` is the temporary folder of its data, in which
        snapshots are saved too; None for permanent data.
        """
        config = node.cluster.config
        directory = Path(node.cluster.logs.metadata_directory.path)
        made = cls("", dict(config.explicit), len(node.addresses()), directory, node.server.dispatcher)
        made._thread = RunningLoop(loop)
        made._node = node
        made._directory = directory
        if folder is not None:
            made._kept = None
            made._temporary = TemporaryFolder(TESTS, folder)
        return made

    @property
    def is_permanent(self) -> bool:
        """Whether the data outlives the process, so that reset and restore are refused."""
        return self._kept is not None

    @property
    def snapshots(self) -> list[str]:
        """The names of the snapshots."""
        return sorted(self._snapshots)

    @property
    def node(self) -> Node:
        """The brokers, to be used on their loop only. Raises RuntimeError if they do not run."""
        if self._node is None:
            raise RuntimeError("the broker is not running; enter it with `with`, or call start()")
        return self._node

    @property
    def running(self) -> bool:
        return self._node is not None

    def start(self) -> None:
        """Start the brokers; returns when clients are accepted. Raises StartFailed, and then leaves nothing open."""
        self._thread.start()
        try:
            self._thread.begin(self._start()).result()
        except BaseException:
            self._end()
            raise

    async def _start(self) -> None:
        directory = self._directory = self._kept or self._new_folder()
        node = Node(
            self._config(directory),
            self._brokers,
            durable=self._kept is not None,
            dispatcher=self._dispatcher,
            release=self._release,
            wrap_disk=self.disk.wrap,
            clock=None if self.time is None else self.time.clock,
        )
        node.before_clients = self._sow
        await node.start()
        if self.time is not None:
            self.time.follow(node.cluster)
        self.begun(node)
        self._node = node

    def stop(self) -> None:
        """Stop the brokers and remove temporary data. Harmless when repeated."""
        if self._node is not None:
            try:
                self._thread.begin(self._node.stop()).result()
            finally:
                self._end()

    def _end(self) -> None:
        self._node = None
        self._thread.stop()
        self._snapshots.clear()
        if self._temporary is not None:
            self._temporary.remove()
            self._temporary = None

    def drop(self) -> None:
        """Clean up when the interpreter ends. No thread can be started then, so the shutdown is unclean."""
        self._end()

    def addresses(self) -> list[str]:
        return list(self.node.addresses().values())

    # ---- on the loop ---------------------------------------------------------------------------------------------------

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the broker's loop."""
        return self._thread.begin(work)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function between two turns of the broker's loop."""
        return self._thread.call(function, *args)

    # ---- reset and snapshots ---------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start again without data, except for the seed. Raises RuntimeError for permanent data."""
        self._check_may_forget("reset")
        self.disk.heal()
        self._go_on_with(self._new_folder(), seeded=True)

    def snapshot(self, name: str) -> None:
        """Save all data under ``name``; replaces an earlier snapshot of that name."""
        before = self._snapshots.get(name)
        target = self._new_folder()
        self._thread.call(self._photograph, target)
        self._snapshots[name] = target
        if before is not None:
            self._folder().remove_later(before)

    def _photograph(self, target: Path) -> None:
        """Copy all data at one moment: called on the loop, so that nothing changes meanwhile."""
        assert self._directory is not None
        shutil.copytree(self._directory, target, ignore=_not_data, dirs_exist_ok=True)

    def restore(self, name: str) -> None:
        """Start again with the data of a snapshot. Raises LookupError for an unknown name, RuntimeError for permanent data."""
        kept = self._snapshots.get(name)
        if kept is None:
            raise LookupError(
                f"there is no snapshot {name!r}; "
                + (f"there are {', '.join(map(repr, sorted(self._snapshots)))}" if self._snapshots else "none was made")
            )
        self._check_may_forget("restore")
        self.disk.heal()
        directory = self._new_folder()
        shutil.copytree(kept, directory, dirs_exist_ok=True)
        self._go_on_with(directory, seeded=False)

    def forget_snapshots(self) -> None:
        """Remove all snapshots."""
        while self._snapshots:
            self._folder().remove_later(self._snapshots.popitem()[1])

    def _go_on_with(self, directory: Path, *, seeded: bool) -> None:
        before, self._directory = self._directory, directory
        self._thread.begin(self._begin_anew(directory, seeded=seeded)).result()
        if before is not None:
            self._folder().remove_later(before)

    async def _begin_anew(self, directory: Path, *, seeded: bool) -> None:
        self.ending()
        self.node.before_clients = self._sow if seeded else None
        await self.node.begin_anew(self._config(directory))
        if self.time is not None:
            self.time.follow(self.node.cluster)
        self.begun(self.node)

    def _sow(self, cluster: Cluster) -> Deferred[None]:
        """Create the seed's topics and records, except for topics that exist in a ``data_dir``."""
        if self.seed is None:
            return Deferred.completed(None)
        from pykbroker.seeding.sowing import sow  # noqa: PLC0415 - start-up counts

        return sow(cluster, self.seed, only_new=True).map(lambda _: None)

    def _check_may_forget(self, what: str) -> None:
        if self._kept is not None:
            raise RuntimeError(
                f"{what}() removes all data, but this broker has a permanent data_dir; leave data_dir out"
            )

    def _config(self, directory: Path) -> BrokerConfig:
        texts = {**self._settings, "log.dirs": str(directory), "metadata.log.dir": str(directory)}
        return BrokerConfig(texts) if self._release is None else BrokerConfig(texts, self._release.definitions)

    def _folder(self) -> TemporaryFolder:
        if self._temporary is None:
            self._temporary = TemporaryFolder(TESTS)
        return self._temporary

    def _new_folder(self) -> Path:
        return self._folder().new()


def _not_data(_directory: str, names: list[str]) -> set[str]:
    """Names not to copy: the lock and the socket belong to the process."""
    return {name for name in names if name in (".lock", SOCKET)}
