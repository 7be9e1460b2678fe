"""The shell around the event loop, which owns all state: sockets, signals and threads.

The rooms below are plain functions on injected time; this module connects them to asyncio (uvloop if it is installed).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.network.sockets import Bind, BrokerSockets
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.runtime import Shell
from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from pykbroker.brokers.broker import Broker
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.runtime import Runtime

log = logging.getLogger(__name__)

_IDLE_CHECK_MS = 10_000
_NEVER_SET = threading.Event()
_BREATH_S = 0.00005
#: While somebody waits for memory: how often the connections are asked for some, and how long a frame may be on its way,
#: which is the default of clients' request.timeout.ms.
_RELIEF_MS = 250
_FRAME_LIMIT_S = 30
#: How often the parent process is checked. Polling getppid costs nothing and works on every system.
_PARENT_CHECK_S = 0.5


def breathe() -> None:
    """Let the loop run, in a thread that computes: it would else wait 5 ms each time for the interpreter's lock."""
    _NEVER_SET.wait(_BREATH_S)


class Threads:
    """A pool of a few worker threads, created when it is first needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.made: ThreadPoolExecutor | None = None

    def pool(self) -> ThreadPoolExecutor:
        """The pool, created by the first call."""
        if self.made is None:
            from concurrent.futures import ThreadPoolExecutor

            self.made = ThreadPoolExecutor(min(8, (os.cpu_count() or 1) + 3), thread_name_prefix=self.name)
        return self.made


class Server:
    """Runs a cluster's brokers on one loop. Sockets are opened first, since they determine the brokers' ports.

    At most ``most_connections`` are open at once. ``dispatcher`` answers their requests.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, most_connections: int, dispatcher: Dispatcher | None = None
    ) -> None:
        self._loop = loop
        self.dispatcher = dispatcher or Dispatcher()
        self._most_connections = most_connections
        self._full_logged = False
        self._cluster: Cluster | None = None
        self._runtime: Runtime | None = None
        self._sockets: dict[int, BrokerSockets] = {}
        self._threads = Threads("pykbroker")
        #: A pool of its own, so that slow reads delay only other reads.
        self._reading_threads = Threads("pykbroker-read")
        self._wake_up: asyncio.TimerHandle | None = None
        self._stopped = asyncio.Event()
        self._serving = False
        self._relieving = False
        self._closed = False
        self._working = 0
        self._none_working = asyncio.Event()
        #: Work that threads begin when what holds it back is over.
        self._held_back: list[Callable[[], None]] | None = None

    # ---- sockets -----------------------------------------------------------------------------------------------------

    async def listen(self, node_id: int, bind: Bind, max_frame: int) -> int:
        """Open a socket for a listener of a broker; returns its port. Raises OSError if the address cannot be bound.

        Connections are accepted from ``start_serving`` on, when the cluster must have the broker.
        """
        sockets = self._sockets.get(node_id)
        if sockets is None:
            sockets = self._sockets[node_id] = BrokerSockets(
                self._loop, partial(self._broker, node_id), self.dispatcher, self._has_room
            )
        return await sockets.open(bind, max_frame)

    def _broker(self, node_id: int) -> Broker:
        assert self._cluster is not None, "no connection is accepted before start_serving"
        return self._cluster.brokers[node_id]

    def _has_room(self) -> bool:
        """Whether one more connection may be accepted; the first refusal is logged. Between two clusters all are refused, so
        that clients connect again.
        """
        if not self._serving:
            return False
        room = sum(sockets.count for sockets in self._sockets.values()) < self._most_connections
        if not room and not self._full_logged:
            log.warning(
                "Connections are refused: %d are open, as many as the limit on open files (ulimit -n) allows",
                self._most_connections,
            )
        self._full_logged = not room
        return room

    def sockets(self, node_id: int) -> BrokerSockets:
        """The sockets of one broker."""
        return self._sockets[node_id]

    def take_up(self, cluster: Cluster) -> None:
        """Run the cluster on this loop, with its timers and threads."""
        self._cluster = cluster
        if self._runtime is not cluster.runtime:
            self.run(cluster.runtime)
        self._look_after_idle(cluster, cluster.config["connections.max.idle.ms"])

    def run(self, runtime: Runtime) -> None:
        """Run what has this runtime on this loop; a cluster of its own follows, or has come."""
        self._runtime = runtime
        wake, run = self._driver(runtime)
        runtime.run_in(
            Shell(
                offload=partial(self._offload, runtime, self._threads),
                offload_read=partial(self._offload, runtime, self._reading_threads),
                breathe=breathe,
                call_soon=self._loop.call_soon,
                call_from_thread=partial(self._call_from_thread, runtime),
                run_queue=lambda run: self._loop.call_soon(self._in_turn, runtime, run),
                relieve=partial(self._relieve, runtime),
                wake=wake,
            )
        )
        run()

    async def start_serving(self) -> None:
        """Accept connections to the brokers of the cluster that was taken up."""
        self._serving = True
        for sockets in self._sockets.values():
            await sockets.start_serving()

    def forget_cluster(self) -> None:
        """Cut the connections, and stop the cluster's timers and work: its threads begin nothing more, and what they end goes
        unheard. The sockets keep listening; connections before the next ``start_serving`` are closed.
        """
        self._serving = self._relieving = False
        self._cluster = None
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.rest()
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None
        for sockets in self._sockets.values():
            sockets.cut_connections()

    # ---- time and threads ----------------------------------------------------------------------------------------------

    def _driver(self, runtime: Runtime) -> tuple[Callable[[float], None], Callable[[], None]]:
        """What keeps one timer of the loop at the earliest deadline of the timers, and what runs those that are due."""
        timers, clock = runtime.timers, runtime.clock

        def wake(deadline: float) -> None:
            if self._wake_up is not None:
                self._wake_up.cancel()
            self._wake_up = self._loop.call_later(max(0.0, deadline - clock.monotonic()), run)

        def run() -> None:
            self._wake_up = None
            runtime.turns.began()
            timers.run_due()
            deadline = timers.next_deadline()
            if deadline is not None and self._wake_up is None:
                wake(deadline)

        return wake, run

    def _in_turn(self, runtime: Runtime, work: Callable[[], None]) -> None:
        """What was left for the end of a turn, unless it is forgotten meanwhile: then its data are given up."""
        if runtime is not self._runtime:
            return
        if not runtime.turns.running:
            runtime.turns.began()
        work()

    def _call_from_thread(self, runtime: Runtime, work: Callable[[], None]) -> None:
        """See ``Shell``; nothing is done after the loop has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._in_turn, runtime, work)

    def _offload(self, runtime: Runtime, threads: Threads, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        """Run a function in a thread; the wait completes on the loop with its result or its error.

        After ``close``, and when the cluster was forgotten, nothing is started and no wait completes: no client is left.
        """
        deferred: Deferred[Any] = Deferred()
        if self._closed or runtime is not self._runtime:
            return deferred
        start = partial(self._start_thread, runtime, deferred, threads, function, *args)
        if self._held_back is None:
            start()
        else:
            self._held_back.append(start)
        return deferred

    def _start_thread(
        self,
        runtime: Runtime,
        deferred: Deferred[Any],
        threads: Threads,
        function: Callable[..., Any],
        *args: Any,
    ) -> None:
        if runtime is not self._runtime:
            return  # forgotten while the work was held back
        try:
            running = self._loop.run_in_executor(threads.pool(), function, *args)
        except RuntimeError as error:  # no thread can be started; callers expect errors in the wait only
            deferred.fail(error)
            return
        self._working += 1
        running.add_done_callback(partial(self._arrived, runtime, deferred))

    def _arrived(self, runtime: Runtime, deferred: Deferred[Any], future: asyncio.Future[Any]) -> None:
        self._working -= 1
        if not self._working:
            self._none_working.set()
        error = future.exception()
        if runtime is not self._runtime:
            return
        runtime.turns.began()
        if error is None:
            deferred.complete(future.result())
        else:
            deferred.fail(error)

    async def threads_rest(self) -> None:
        """Wait until no thread works for a cluster."""
        while self._working:
            self._none_working.clear()
            await self._none_working.wait()

    @contextlib.asynccontextmanager
    async def threads_held(self) -> AsyncIterator[None]:
        """Let threads end what they do, and begin nothing else meanwhile: nothing changes on the disk but by this loop."""
        assert self._held_back is None, "already held"
        self._held_back = []
        try:
            await self.threads_rest()
            yield
        finally:
            held, self._held_back = self._held_back, None
            for start in held:
                start()

    def _relieve(self, runtime: Runtime) -> None:
        """Somebody waits for memory: connections give back what they only keep, now, and as long as somebody waits. Frames that
        have been on their way for longer than clients wait for an answer are given up.
        """
        if self._relieving:
            return
        self._relieving = True

        def relieve() -> None:
            self._relieving = runtime.memory.waiting > 0
            if not self._relieving:
                return
            since = runtime.clock.monotonic() - _FRAME_LIMIT_S
            for sockets in self._sockets.values():
                for connection in list(sockets.connections):
                    connection.release_memory()
                    if connection.is_stalled(since):
                        log.warning(
                            "Connection from %s:%d closed: a part of its request arrived more than %d s ago, the rest "
                            "has not, and others wait for the memory",
                            *(connection.host, connection.port, _FRAME_LIMIT_S),
                        )
                        connection.cut()
            runtime.client_timers.after(_RELIEF_MS, relieve)

        runtime.wake_queue.add(relieve)

    def _look_after_idle(self, cluster: Cluster, limit_ms: int) -> None:
        """Release the receive blocks of idle connections, and close those idle for ``limit_ms`` (if positive)."""

        def check() -> None:
            now = cluster.runtime.clock.monotonic()
            idle_since = now - _IDLE_CHECK_MS / 1000
            closed_since = now - limit_ms / 1000 if limit_ms > 0 else -math.inf
            for sockets in self._sockets.values():
                for connection in [c for c in sockets.connections if c.last_active < idle_since]:
                    connection.release_memory()
                    if connection.last_active < closed_since:
                        if connection.is_sending:
                            connection.cut()  # the client reads nothing, so an orderly close would never finish
                        else:
                            connection.close()

        cluster.runtime.timers.every(_IDLE_CHECK_MS, check)

    # ---- the end ---------------------------------------------------------------------------------------------------------

    def stop_on_signals(self) -> None:
        """End ``wait_stopped`` on SIGTERM, SIGINT and SIGHUP, except those that are ignored (nohup ignores SIGHUP)."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._loop.add_signal_handler(number, self._stop_by, number)

    def _stop_by(self, number: signal.Signals) -> None:
        log.info("Shutting down: received %s", number.name)
        self._stopped.set()

    def stop_with_parent(self) -> None:
        """End ``wait_stopped`` when the parent process ends."""
        parent = os.getppid()

        def look() -> None:
            if os.getppid() == parent:
                self._loop.call_later(_PARENT_CHECK_S, look)
            elif not self._stopped.is_set():
                log.info("Shutting down: the parent process %d has ended", parent)
                self._stopped.set()

        look()

    def stop(self) -> None:
        """End ``wait_stopped``."""
        self._stopped.set()

    async def wait_stopped(self) -> None:
        await self._stopped.wait()

    def close_descriptors(self) -> None:
        """In a forked child, where the loop does not run: close what the child has of the sockets."""
        for sockets in self._sockets.values():
            for descriptor in sockets.descriptors():
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    async def close(self) -> None:
        """Stop listening, close the connections, stop the timers, and wait for the threads. The logs remain open."""
        self._closed = True
        for sockets in self._sockets.values():
            sockets.close()
            sockets.release()
        if self._runtime is not None:
            self._runtime.timers.wake_by(None)
        if self._wake_up is not None:
            self._wake_up.cancel()
        for threads in (self._reading_threads, self._threads):
            if threads.made is not None:
                await self._loop.run_in_executor(None, threads.made.shutdown)
