"""The server process: real brokers over a simulated disk, which can be killed at any moment and started again."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.image import Endpoint
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.runtime import run_inline
from pykbroker.runtime.waits import Deferred
from pykbroker.worlds.disk import ProcessDied

if TYPE_CHECKING:
    from pykbroker.network.connection import Connection
    from pykbroker.simulation.network import Link
    from pykbroker.simulation.world import World

T = TypeVar("T")

LISTENER = "PLAINTEXT"

#: How long what goes to a thread takes there, at most, where the disk is as quick as it should be.
LONGEST_OFFLOAD_MS = 20

#: How long it takes, at most, until what is left for the next turn of the loop is done.
_LONGEST_TURN_MS = 3


class SimulatedServer:
    """See the module. Node ids count from 1."""

    def __init__(self, world: World, brokers: int, settings: dict[str, str]) -> None:
        self._world = world
        self._dispatcher = Dispatcher()
        self._settings = {"listeners": f"{LISTENER}://127.0.0.1:0", **settings}
        self._random = world.randomness("server")
        self._turns: deque[Callable[[], None]] = deque()
        self._inside = False
        #: How long what goes to a thread takes there, at most.
        self.longest_offload_ms = LONGEST_OFFLOAD_MS
        #: What the process does in one turn of what is too much for one.
        self.weight_of_a_turn = 1000.0
        #: None while the process is down.
        self.cluster: Cluster | None = None
        self.nodes = range(1, brokers + 1)
        #: Called whenever the process has done something.
        self.watchers: list[Callable[[], None]] = []
        #: Told, when the process has died, how.
        self.died: list[Callable[[str], None]] = []

    @property
    def running(self) -> Cluster:
        """The cluster. Raises RuntimeError while the process is down."""
        if self.cluster is None:
            raise RuntimeError("the server is down")
        return self.cluster

    def start(self) -> None:
        """Start the process on what the disk holds; it may die of it, where the disk says so."""
        self._world.note("server starts")
        self._turns.clear()
        self._inside = True
        try:
            cluster = Cluster.open(
                BrokerConfig(self._settings),
                Path("/data"),
                self._world.disk,
                self._world.clock,
                self._random,
            )
            cluster.runtime.offload = cluster.runtime.offload_read = partial(self._offload, cluster)
            cluster.runtime.wake_queue.run_by(self._turns.append)
            cluster.runtime.slices.weight_of_a_turn = self.weight_of_a_turn
            BrokerLifecycle(cluster).start_all({node: [Endpoint(LISTENER, f"host{node}", 9092)] for node in self.nodes})
        except ProcessDied:
            self._die("killed while it started")
            return
        finally:
            self._inside = False
        self.cluster = cluster
        self._call(lambda: None)

    def stop(self) -> None:
        """Stop as a service manager asks for it."""
        self._call(self.running.shutdown)
        self._die("stopped")

    def kill(self) -> None:
        """SIGKILL: what was written stays in the page cache."""
        if self.cluster is not None:
            self._die("killed")

    def lose_power(self) -> None:
        """What was not synced may be lost."""
        self._die("lost power")
        self._world.disk.crash(self._random)

    def _die(self, manner: str) -> None:
        self._world.note(f"server {manner}")
        self.cluster = None
        self._turns.clear()
        self._world.disk.fail = None
        for told in self.died:
            told(manner)

    # What it does

    def handle(self, node: int, link: Link, frame: memoryview) -> Any:
        """Answer one frame as the dispatcher does; None when the process is down or dies of it."""
        return self._call(lambda: self._dispatcher.answer(self.running.brokers[node], cast("Connection", link), frame))

    def tell(self, callbacks: Iterable[Callable[[], None]]) -> None:
        """A connection has ended; a process that has died is told nothing."""
        for callback in callbacks:
            self._call(callback)

    def next_deadline_ms(self) -> float:
        """When the next timer is due, in milliseconds since the world began."""
        cluster = self.cluster
        deadline = None if cluster is None else cluster.runtime.timers.next_deadline()
        if deadline is None:
            return math.inf
        whole = math.ceil(deadline * 1000)
        return whole if whole / 1000 >= deadline else whole + 1  # not a moment too early, or nothing would be due

    def run_timers(self) -> None:
        """Do what is due."""
        self._call(self.running.runtime.timers.run_due)

    def _call(self, work: Callable[[], T]) -> T | None:
        """Work in the process, and what it left for the end of the turn. The process may die in between.

        What that leaves in its turn is done a moment later, and whatever has arrived until then comes before it.
        """
        if self.cluster is None:
            return None
        if self._inside:
            return work()
        self._inside = True
        try:
            result = work()
            for _ in range(len(self._turns)):
                self._turns.popleft()()
        except ProcessDied:
            self._die("killed while it wrote")
            return None
        finally:
            self._inside = False
        if self._turns:
            self._world.at(self._random.randint(0, _LONGEST_TURN_MS), partial(self._next_turn, self.cluster))
        for watcher in self.watchers:
            watcher()
        return result

    def _next_turn(self, cluster: Cluster) -> None:
        if self.cluster is cluster:
            self._call(lambda: None)

    def _offload(self, cluster: Cluster, function: Callable[..., T], *args: Any) -> Deferred[T]:
        """In place of a thread: it is done some time later, unless the process is gone by then."""
        later: Deferred[T] = Deferred()

        def do() -> None:
            done = run_inline(function, *args)
            try:
                value = done.value
            except Exception as error:  # noqa: BLE001 - the caller looks at the Deferred
                later.fail(error)
            else:
                later.complete(value)

        def happen() -> None:
            if self.cluster is cluster:
                self._call(do)

        self._world.at(self._random.randint(1, self.longest_offload_ms), happen)
        return later
