"""A process of brokers, from its start to its end: logs, metadata, cluster, sockets, and the reverse.

The order matters. Logs come first, since they may need recovery. Sockets are opened before the brokers register, since free
ports are known only then. No connection is accepted before the metadata has the brokers. At the end the logs are closed last,
with the clean shutdown marker, which spares the next start a recovery.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykbroker import __version__
from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.config import unserved
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.membership import is_member
from pykbroker.config.setting import ConfigError
from pykbroker.metadata.features import CURRENT, Features
from pykbroker.network.server import Server
from pykbroker.process import descriptors, log_directories
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.process.life import LifeEnded, Lifetimes, awaited
from pykbroker.process.limiting import Limiting
from pykbroker.process.listening import address, advertised, is_everywhere, open_again, open_sockets, reachable
from pykbroker.process.log_directories import DirectoryPaths, StartFailed
from pykbroker.process.memory_limit import set_limits
from pykbroker.process.unvalidated import ValidationWarnings
from pykbroker.requests.pipeline import Place
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.errors import KafkaError, WireError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import OwnStore
    from pykbroker.brokers.store import Store
    from pykbroker.faults.injector import Injector
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.network.admission import Admission
    from pykbroker.process.joining import QuorumMember
    from pykbroker.process.machine import Machine
    from pykbroker.process.secured import SecuredListeners
    from pykbroker.process.single_brokers import SingleBrokers
    from pykbroker.releases.release import Release
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.clock import Clock
    from pykbroker.runtime.waits import Deferred
    from pykbroker.storage.directory_lock import DirectoryLock
    from pykbroker.storage.disk import Disk

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Service(Protocol):
        """A service beside the brokers (HTTP, the control socket), which runs from when clients are accepted until the stop."""

        async def open(self) -> None:
            """Accept requests."""
            ...

        async def close(self) -> None:
            """Stop accepting requests."""
            ...


log = logging.getLogger(__name__)

T = TypeVar("T")

#: Called with a cluster before clients are accepted, which waits for the result.
Prepare = Callable[["Cluster"], "Deferred[None]"]


async def serve(
    node: Node,
    announce: Callable[[Node], None],
    *,
    with_parent: bool = False,
    services: Callable[[Node], Sequence[Service]] = lambda _: (),
    before_clients: Prepare | None = None,
) -> None:
    """Run a Node until SIGTERM, SIGINT or SIGHUP, which are handled from the beginning, since the first process of a container
    is not stopped by them otherwise. With ``with_parent`` the end of the parent process stops it, too. ``services`` creates
    the services beside it. ``before_clients`` is called before clients are accepted, ``announce`` afterwards. Raises
    StartFailed.
    """
    node.server.stop_on_signals()
    if with_parent:
        node.server.stop_with_parent()
    sides = services(node)
    await node.start(before_clients)
    try:
        for side in sides:
            await side.open()
        node.validation_warnings.warn_of_all()
        announce(node)
        await node.server.wait_stopped()
    finally:
        for side in reversed(sides):
            await side.close()
        await node.stop()
    if node.failure is not None:
        raise StartFailed(node.failure)


def _tell_changes(image: MetadataImage, delta: MetadataDelta) -> None:
    from pykbroker.brokers import changes

    changes.tell(image, delta)


class Node:
    """``brokers`` brokers on the log directories of the settings. ``racks`` has the rack of each; without it all have
    broker.rack. ``release`` is the emulated earlier release, if any. With ``as_reached`` clients of a listener on all
    addresses are answered the address that they connected to. ``machine`` is another machine than this one, as a simulator's. It
    belongs to the event loop that runs when it is created.
    """

    def __init__(
        self,
        config: BrokerConfig,
        brokers: int = 1,
        *,
        racks: Sequence[str] | None = None,
        durable: bool = True,
        as_reached: bool = False,
        clock: Clock | None = None,
        dispatcher: Dispatcher | None = None,
        release: Release | None = None,
        wrap_disk: Callable[[Disk], Disk] | None = None,
        machine: Machine | None = None,
    ) -> None:
        self._machine = machine
        #: Whether each broker has copies of its own, in the folder of its node id in each log directory.
        self._copies = brokers > 1
        self._paths = log_directories.named_by(config)
        self._config = log_directories.with_node_id(self._paths, config, None if machine is None else machine.disk)
        _check(self._config, brokers)
        self._durable = durable
        self._ids = [self._config.node_id + position for position in range(brokers)]
        self._racks = None if racks is None else dict(zip(self._ids, racks, strict=True))
        self._ports: dict[int, dict[str, int]] = {}
        self._locks: list[DirectoryLock] = []
        self._lifecycle: BrokerLifecycle | None = None
        self._membership: QuorumMember | None = None
        #: Why the process ends by itself; None while nothing is known of that.
        self.failure: str | None = None
        self._real_disk: RealDisk | None = None
        self._housekeeping: Housekeeping | None = None
        self._changing = asyncio.Lock()
        self._descriptors = descriptors.allowed()
        self._features = CURRENT if release is None else release.features
        if release is not None and dispatcher is None:
            dispatcher = release.dispatcher()
        self._wrap_disk = wrap_disk or (lambda disk: disk)
        self._faults: Injector | None = None
        #: The lives of the cluster, which who outlives one follows.
        self.lifetimes = Lifetimes()
        self._clock = clock or SystemClock()
        #: The addresses of the services beside the brokers that are open: ``http``, ``schema_registry``.
        self.services: dict[str, str] = {}
        self._secured = self._made_secure()
        self.server = Server(asyncio.get_running_loop(), self._descriptors.connections, dispatcher)
        #: Installs quotas and connection limits.
        self.limiting = Limiting(self.server, self._ids)
        if self._config["authorizer.class.name"]:
            from pykbroker.access.step import authorise

            self.server.dispatcher.places.fill(Place.AUTHORISE, authorise)
        self._as_reached = self._tell_as_reached(brokers) if as_reached else []
        for begun in (self.limiting.follow, *(() if self._secured is None else (self._secured.follow,))):
            self.lifetimes.follow(begun)
        self.lifetimes.follow(lambda life: self.server.take_up(life.cluster))
        #: Of topics that ask for validation by schemas; they cease while a schema registry validates.
        self.validation_warnings = ValidationWarnings(self.lifetimes)

    def _made_secure(self) -> SecuredListeners | None:
        """The secured listeners, or None. Raises StartFailed."""
        if all(listener.security_protocol == "PLAINTEXT" for listener in self._config.listeners):
            return None
        from pykbroker.process.secured import SecuredListeners

        try:
            return SecuredListeners(self._config, lambda: self.cluster, self._ids)
        except ConfigError as error:
            raise StartFailed(str(error)) from error

    def renew_certificates(self, renewal: Callable[[], Mapping[str, str]]) -> None:
        """Ask ``renewal`` for the settings of listeners with new certificates every hour; they hold for new connections."""
        if self._secured is not None:
            self._secured.renew_by(renewal)

    def admission(self, listener: str) -> Admission | None:
        """How a listener of the first broker admits connections, with its present settings; None for a listener without security."""
        return None if self._secured is None else self._secured.admission(self._ids[0], listener)

    def certificates_end(self, node_id: int) -> dict[str, int]:
        """When the certificates of a broker's listeners expire, in seconds since the epoch, by listener."""
        return {} if self._secured is None else self._secured.not_after(node_id)

    def _tell_as_reached(self, brokers: int) -> list[str]:
        """Wrap the handlers of brokers whose listeners advertise the address that clients connected to."""
        from pykbroker.process.gateways import default_gateways
        from pykbroker.requests.as_reached import AsReached

        names = [listener.name for listener in self._config.listeners if is_everywhere(listener.host)]
        self.server.dispatcher.places.fill(
            Place.ADVERTISE, AsReached(names, default_gateways, several=brokers > 1).guard
        )
        return names

    @cached_property
    def brokers(self) -> SingleBrokers:
        """Stops, starts and describes single brokers."""
        from pykbroker.process.single_brokers import SingleBrokers

        return SingleBrokers(self._ids, self.server, self._changing, lambda: self._lifecycle)

    def _fail(self, node_id: int) -> Deferred[None]:
        """End a broker none of whose log directories works."""
        return self.brokers.fail(node_id)

    @property
    def housekeeping(self) -> Housekeeping:
        """The periodic work of the process, once it is started."""
        assert self._housekeeping is not None, "the node is not started"
        return self._housekeeping

    @property
    def any_faults(self) -> Injector | None:
        """The fault injector, if there ever was a rule."""
        return self._faults

    @property
    def faults(self) -> Injector:
        """The fault injector of this process, imported on first use."""
        if self._faults is None:
            from pykbroker.faults.injector import Injector

            injector = self._faults = Injector(self.server.dispatcher, lambda: self.cluster)
            self.lifetimes.follow(lambda life: life.at_end(injector.forget))
        return self._faults

    @property
    def cluster(self) -> Cluster:
        """The cluster. Raises LifeEnded before the start, after the stop, and while it is reset."""
        if self._lifecycle is None:
            raise LifeEnded
        return self._lifecycle.cluster

    @property
    def directory(self) -> Path:
        """The log directory with the metadata; of brokers with copies of their own, the one that has their folders."""
        return self._paths.metadata

    @property
    def config(self) -> BrokerConfig:
        """The settings of the start."""
        return self._config

    @property
    def current(self) -> Cluster | None:
        """The cluster; None if it is not started."""
        return None if self.lifetimes.current is None else self.lifetimes.current.cluster

    def addresses(self) -> dict[int, str]:
        """The address of every broker's first listener, by node id."""
        first = self._config.listeners[0]
        return {node_id: address(reachable(first), ports[first.name]) for node_id, ports in self._ports.items()}

    def summary(self) -> dict[str, Any]:
        """The process as JSON, as docs/operating.md describes it: ``bootstrap`` has what clients connect to, ``brokers`` the
        addresses of all listeners.
        """
        beside = {name: self.services.get(name) for name in ("http", "schema_registry")}
        return {
            "bootstrap": ",".join(self.addresses().values()),
            "data_dir": str(self.directory),
            "pid": os.getpid(),
            "version": __version__,
            "cluster_id": self.cluster.logs.cluster_id,
            "log_dirs": [contents.path for store in self.cluster.stores() for contents in store.logs.directories],
            "brokers": [
                {
                    "id": node_id,
                    "listeners": {
                        listener.name: address(reachable(listener), ports[listener.name])
                        for listener in self._config.listeners
                    },
                }
                for node_id, ports in self._ports.items()
            ],
            "protocols": {listener.name: listener.security_protocol for listener in self._config.listeners},
            **{name: where for name, where in beside.items() if where is not None},
        }

    async def start(self, before_clients: Prepare | None = None) -> None:
        """Start; returns when clients are accepted. Raises StartFailed, and then leaves nothing open."""
        try:
            await self._start(before_clients)
        except BaseException:
            await self.stop()
            raise

    async def _start(self, before_clients: Prepare | None) -> None:
        config = self._config
        monotonic = SystemClock().monotonic  # a test's clock stands still meanwhile
        began = monotonic()
        log.info("pykbroker %s starts, process %d", __version__, os.getpid())
        self._ports = await open_sockets(self.server, config, self._ids, self._secured)
        await self._open(before_clients)
        self._tell_started(monotonic() - began)

    async def _open(self, before_clients: Prepare | None) -> None:
        """Open the logs, start the brokers, then accept clients: a life begins."""
        config = self._config = self._config.with_texts({})  # settings that a former life altered are not in the copy
        if is_member(config):
            if before_clients is not None:
                raise StartFailed(
                    "a seed is for a cluster of this process alone: leave it out, and load it by a client"
                )
            lifecycle = await self._join(config)
        else:
            lifecycle = self._begin_cluster(config)
        self._lifecycle = lifecycle
        cluster = lifecycle.cluster
        cleaner = None if self._machine is None else self._machine.cleaner
        self._housekeeping = Housekeeping(cluster, durable=self._durable, cleaner=cleaner, fail=self._fail)
        cluster.metadata.subscribe(_tell_changes)
        set_limits(cluster.runtime.memory, config)
        life = self.lifetimes.begin(cluster)
        life.at_end(cluster.log_levels.restore)
        if self._membership is not None:
            await self._unless_stopped(self._membership.unfence())
        if before_clients is not None:
            await awaited(before_clients(cluster))
        await self.server.start_serving()
        self._housekeeping.start()

    def _begin_cluster(self, config: BrokerConfig) -> BrokerLifecycle:
        """Open the logs of this process's own cluster, and start its brokers."""
        cluster = self._open_cluster(config)
        lifecycle = self._lifecycle = BrokerLifecycle(cluster)
        stores = self._open_copies(cluster) if self._copies else None
        try:
            lifecycle.start_all(
                {
                    node_id: advertised(config, position, self._ports[node_id])
                    for position, node_id in enumerate(self._ids)
                },
                self._racks,
                stores,
            )
        except KafkaError as error:
            raise log_directories.unusable(self._paths.metadata, error) from error
        return lifecycle

    async def _join(self, config: BrokerConfig) -> BrokerLifecycle:
        """Become a broker of the cluster whose controllers the settings name. Raises StartFailed."""
        from pykbroker.network.nodes import NodeConnections
        from pykbroker.process.joining import Ground, QuorumMember
        from pykbroker.requests.forwarded import Forward

        disk, rng = self._take_disk()
        loop, client_id = asyncio.get_running_loop(), f"broker-{config.node_id}"
        ground = Ground(
            config, self._paths, disk, self._clock, rng, self._features, partial(NodeConnections, loop, client_id)
        )
        endpoints = advertised(config, 0, self._ports[config.node_id])
        membership = self._membership = QuorumMember(ground, endpoints, self._end)
        self.server.run(membership.runtime)
        try:
            lifecycle = await self._unless_stopped(membership.open())
        except (KafkaError, WireError, OSError, ValueError) as error:
            raise log_directories.unusable(self._paths.metadata, error) from error
        self.server.dispatcher.places.fill(Place.FORWARD, Forward(membership.forwarding))
        return lifecycle

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that waits for other processes. Raises StartFailed if this one is to stop before."""
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self.server.wait_stopped())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            return working.result()
        working.cancel()
        raise StartFailed(self.failure or "the process was stopped before it was a broker of the cluster")

    def _end(self, sentence: str) -> None:
        """The process ends by itself, since it cannot go on."""
        self.failure = sentence
        self.server.stop()

    def _open_copies(self, cluster: Cluster) -> dict[int, Store]:
        """The stores of all brokers but the first."""
        from pykbroker.process.copies import folders, open_store

        own = dict(zip(self._ids, folders(self._paths, self._ids), strict=True))
        try:
            return {
                node_id: open_store(cluster, own[node_id], node_id, self._disk_in_use, self._clock)
                for node_id in self._ids[1:]
            }
        except (KafkaError, OSError, ValueError) as error:
            raise log_directories.unusable(self._paths.metadata, error) from error

    def _open_cluster(self, config: BrokerConfig) -> Cluster:
        """The cluster, on the disk and with the randomness of its machine. Raises StartFailed."""
        disk, rng = self._take_disk()
        log_directories.check_brokers(self._paths, self._ids, disk)
        open_shared = partial(_open_cluster, config, self._paths, disk, self._clock, rng, self._features)
        if not self._copies:
            return open_shared()
        from pykbroker.process import copies

        copies.take_over(self._paths, self._ids, disk, rng, open_shared)
        first, *others = copies.folders(self._paths, self._ids)
        if self._machine is None:
            for paths in (first, *others):
                self._locks += log_directories.lock(paths)
        own = copies.own_store(self._ids[0])
        return _open_cluster(config, first, disk, self._clock, rng, self._features, own)

    def _take_disk(self) -> tuple[Disk, random.Random]:
        """The disk of the machine, whose log directories are locked now, and its randomness. Raises StartFailed."""
        if self._machine is not None:
            self._disk_in_use = self._machine.disk
            return self._disk_in_use, self._machine.random
        self._locks = log_directories.lock(self._paths)
        self._real_disk = RealDisk(max_open=self._descriptors.files, durable=self._durable)
        self._disk_in_use = self._wrap_disk(self._real_disk)
        return self._disk_in_use, random.SystemRandom()

    def _tell_started(self, took_s: float) -> None:
        """Log a summary of the start for operators."""
        cluster = self.cluster
        for contents in (each for store in cluster.stores() for each in store.logs.directories):
            state = (
                "offline"
                if contents.directory.offline
                else "after a clean shutdown"
                if contents.clean
                else "new, or after an unclean shutdown"
            )
            log.info("Log directory %s (%d partitions, %s)", contents.path, contents.partitions, state)
        topics = cluster.metadata.image.topics
        log.info("Cluster %s has %d topics", cluster.logs.cluster_id, len(topics))
        for node_id, broker in cluster.brokers.items():
            where = [f"{name} {port}" for name, port in self._ports[node_id].items()]
            told = [f"{each.listener}://{address(each.host, each.port)}" for each in broker.endpoints]
            log.info("Broker %d listens on ports %s; clients are told %s", node_id, ", ".join(where), ", ".join(told))
        if self._as_reached:
            log.info("Clients of listeners %s are told the address that they connected to", ", ".join(self._as_reached))
        log.info("Started in %.2f s", took_s)

    async def stop(self) -> None:
        """Stop everything in order, with the clean shutdown marker. A stop or start of a single broker is completed
        first.
        """
        async with self._changing:
            if self._membership is not None and self._lifecycle is not None:
                await self._membership.leave()
            if self._housekeeping is not None:
                self._housekeeping.stop()
            for broker in self.cluster.brokers.values() if self._lifecycle is not None else ():
                if broker.started_share_partitions is not None:
                    broker.started_share_partitions.begin_stop()
            if self._membership is not None:
                self._membership.close()
            await self.server.close()
            self.lifetimes.end()
            if self._lifecycle is not None:
                _shut_down(self.cluster, in_threads=self._machine is None)
                self._lifecycle = None
            if self._real_disk is not None:
                self._real_disk.give_up()  # its process may go on, as that of tests does
            while self._locks:
                self._locks.pop().release()

    async def begin_again(self, replace: Callable[[], None], before_clients: Prepare | None = None) -> None:
        """End this life of the cluster and begin another one, with the same settings, ports and log directories.

        Connections are dropped, and threads end what they do. ``replace`` is called when nothing uses the log directories,
        and exchanges what is in them. Brokers that were stopped are started, too. Raises StartFailed, and what ``replace``
        raises; then no cluster runs, until ``begin_again`` succeeds.
        """
        if self._membership is not None:
            raise StartFailed(
                "the metadata are not this process's own: it has one broker of a cluster whose controllers are other processes"
            )
        async with self._changing:
            if self._housekeeping is not None:
                self._housekeeping.stop()
            self.lifetimes.end(followed=True)
            self.server.forget_cluster()
            self._lifecycle = None
            if self._real_disk is not None:
                self._real_disk.give_up()
            await self.server.threads_rest()
            while self._locks:
                self._locks.pop().release()
            replace()
            await open_again(self.server, self._ids)
            await self._open(before_clients)

    @contextlib.asynccontextmanager
    async def unchanging(self) -> AsyncIterator[None]:
        """Meanwhile no broker stops or starts, no other life begins, and no thread works for the brokers: between two awaits
        nothing on the disk changes but by the caller.
        """
        async with self._changing, self.server.threads_held():
            yield


def _check(config: BrokerConfig, brokers: int) -> None:
    """Raises StartFailed for settings that are not served; of those without effect the log says so."""
    try:
        unserved.check(config)
    except ConfigError as error:
        raise StartFailed(str(error)) from error
    if brokers > 1 and is_member(config):
        raise StartFailed(
            "process.roles=broker is one broker of a cluster: leave --brokers out, and start a process for each"
        )
    for warning in unserved.warnings(config):
        log.warning("%s", warning)


def _shut_down(cluster: Cluster, *, in_threads: bool) -> None:
    monotonic = SystemClock().monotonic
    began = monotonic()
    with contextlib.ExitStack() as stack:
        each: Callable[..., Any] = map
        if in_threads:
            from concurrent.futures import ThreadPoolExecutor

            each = stack.enter_context(ThreadPoolExecutor(max_workers=8)).map
        try:
            cluster.shutdown(each)
            logs = sum(len(store.logs.logs) for store in cluster.stores())
            log.info("Clean shutdown: %d logs closed in %.2f s", logs, monotonic() - began)
        except KafkaError as error:
            log.error("Unclean shutdown (%s): the next start recovers the logs", error)


def _open_cluster(
    config: BrokerConfig,
    paths: DirectoryPaths,
    disk: Disk,
    clock: Clock,
    rng: random.Random,
    features: Features,
    own: OwnStore | None = None,
) -> Cluster:
    try:
        return Cluster.open(
            config,
            paths.metadata,
            disk,
            clock,
            rng,
            others=paths.others,
            metadata_apart=paths.metadata_apart,
            features=features,
            own=own,
        )
    except (KafkaError, WireError, OSError, RuntimeError, ValueError) as error:
        raise log_directories.unusable(paths.metadata, error) from error
