"""Brokers in a thread of this process, over a temporary folder or one that stays."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.node import Node
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.temporary import TESTS, TemporaryFolder
from pykbroker.runtime.waits import Deferred
from pykbroker.steered.clock import ManualTime
from pykbroker.steered.control import Control
from pykbroker.steered.disk import DiskFaults
from pykbroker.steered.loop import LoopThread
from pykbroker.steered.snapshots import Snapshots
from pykbroker.steered.steering import Steering

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.faults.chaos import Chaos
    from pykbroker.process.life import Life
    from pykbroker.releases.release import Release
    from pykbroker.seeding.seed import Seed
    from pykbroker.steered.request_log import RequestLog

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setup:
    """What brokers are started with: ``name`` of their thread, settings as text, how many they are, and the rack of each.

    Data is temporary without ``data_dir``. ``seed`` has the topics and records at the start and after each reset; ``time``
    is the manual clock, if there is one; ``log`` is the request log. ``followers`` follow the lives of the cluster; ``chaos`` befalls
    its clients.
    """

    name: str
    settings: dict[str, str]
    brokers: int
    data_dir: Path | None
    dispatcher: Dispatcher
    release: Release | None = None
    seed: Seed | None = None
    time: ManualTime | None = None
    log: RequestLog | None = None
    followers: tuple[Callable[[Life], None], ...] = ()
    chaos: Chaos | None = None
    racks: Sequence[str] | None = None

    def config(self, directory: Path) -> BrokerConfig:
        """The settings with data in ``directory``."""
        texts = {**self.settings, "log.dirs": str(directory), "metadata.log.dir": str(directory)}
        return BrokerConfig(texts) if self.release is None else BrokerConfig(texts, self.release.definitions)

    def load_seed(self, cluster: Cluster) -> Deferred[None]:
        """Create the seed's topics and records, except for topics that exist in a ``data_dir``."""
        if self.seed is None:
            return Deferred.completed(None)
        from pykbroker.seeding.loading import load_seed

        return load_seed(cluster, self.seed, only_new=True).map(lambda _: None)


@dataclass(frozen=True, slots=True)
class _Running:
    """What there is from a start to its stop."""

    node: Node
    snapshots: Snapshots
    control: Control


class Embedded:
    """A Node on a loop of its own. All methods may be called from any thread but the loop's."""

    def __init__(self, setup: Setup) -> None:
        self.disk = DiskFaults()
        self._setup = setup
        self._thread = LoopThread(setup.name)
        self._running: _Running | None = None

    @property
    def time(self) -> ManualTime | None:
        """The manual clock, if there is one."""
        return self._setup.time

    @property
    def node(self) -> Node:
        """The brokers, to be used on their loop only. Raises RuntimeError if they do not run."""
        return self._present.node

    @property
    def snapshots(self) -> Snapshots:
        """Reset and snapshots, to be used on the loop only. Raises RuntimeError if the brokers do not run."""
        return self._present.snapshots

    def steering(self) -> Steering:
        """What can be steered of them, on the loop only. Raises RuntimeError if the brokers do not run."""
        return self._present.control.steering()

    def request_log(self) -> RequestLog | None:
        """What notes requests, None while they are not recorded; on the loop only. Raises RuntimeError if the brokers do not run."""
        return self._present.control.request_log() if self._setup.log is None else self._setup.log

    @property
    def _present(self) -> _Running:
        if self._running is None:
            raise RuntimeError("the broker is not running; enter it with `with`, or call start()")
        return self._running

    @property
    def running(self) -> bool:
        return self._running is not None

    def addresses(self) -> list[str]:
        return list(self.node.addresses().values())

    # ---- from start to end ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the brokers; returns when clients are accepted. Raises StartFailed, and then leaves nothing open."""
        self._thread.start()
        try:
            self._running = self._thread.begin(self._start()).result()
        except BaseException:
            self._thread.stop()
            raise

    async def _start(self) -> _Running:
        setup = self._setup
        folder = TemporaryFolder(TESTS) if setup.data_dir is None else None
        try:
            directory = setup.data_dir if folder is None else folder.new()
            assert directory is not None
            node = Node(
                setup.config(directory),
                setup.brokers,
                durable=folder is None,
                dispatcher=setup.dispatcher,
                release=setup.release,
                wrap_disk=self.disk.wrap,
                racks=setup.racks,
                clock=None if setup.time is None else setup.time.clock,
            )
            for follower in (*(() if setup.time is None else (setup.time.follow,)), *setup.followers):
                node.lifetimes.follow(follower)
            await node.start(setup.load_seed)
        except BaseException:
            if folder is not None:
                folder.remove()
            raise
        snapshots = Snapshots(node, folder, permanent=folder is None, seed=setup.load_seed, disk=self.disk)
        control = Control(directory, lambda: Steering(node, snapshots, setup.time, setup.log))
        await control.open()
        if setup.chaos is not None:
            control.steering().chaos.begin_each_life_with(setup.chaos)
        return _Running(node, snapshots, control)

    def stop(self) -> None:
        """Stop the brokers and remove temporary data. Harmless when repeated."""
        if self._running is not None:
            try:
                self._thread.begin(self._stop(self._running)).result()
            finally:
                self.drop()

    @staticmethod
    async def _stop(running: _Running) -> None:
        await running.control.close()
        await running.node.stop()

    def drop(self) -> None:
        """Clean up, also when the interpreter ends. No thread can be started then, so the shutdown is unclean."""
        running, self._running = self._running, None
        self._thread.stop()
        if running is not None:
            running.snapshots.close()

    def disown(self) -> None:
        """In a forked child: leave the brokers to the parent, in which they run. Descriptors are closed, since a connection
        that the parent closes would stay open otherwise.
        """
        running, self._running = self._running, None
        if running is not None:
            _of_the_parent.append((running, self._thread))
            self._thread = LoopThread(self._setup.name)
            running.snapshots.disown()
            running.node.server.close_descriptors()

    # ---- on the loop ---------------------------------------------------------------------------------------------------

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the broker's loop."""
        return self._thread.begin(work)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function between two turns of the broker's loop."""
        return self._thread.call(function, *args)

    def reset(self) -> None:
        """As ``Snapshots.reset``."""
        self.begin(self.snapshots.reset()).result()

    def snapshot(self, name: str) -> None:
        """As ``Snapshots.take``."""
        self.begin(self.snapshots.take(name)).result()

    def restore(self, name: str) -> None:
        """As ``Snapshots.restore``."""
        self.begin(self.snapshots.restore(name)).result()

    def forget_snapshots(self) -> None:
        """As ``Snapshots.forget``."""
        self.call(self.snapshots.forget)


#: Objects of the parent's loop in a forked child: their end would close descriptors that are the child's by then.
_of_the_parent: list[object] = []
