"""A process of brokers from its start to its end: store, metadata, cluster, sockets, and the way back.

The order matters. The store comes first, since it may have to recover; the sockets are opened before the brokers
register, since a free port is only known then; nobody is accepted before the metadata names the brokers; and at the
end the logs are closed last, with the marker that spares the next start a recovery.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pykbroker.brokers.broker import WrongBroker
from pykbroker.brokers.cluster import Cluster
from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.image import Endpoint
from pykbroker.network.server import Server
from pykbroker.network.sockets import Bind
from pykbroker.process import data_folders, descriptors
from pykbroker.process.control import Control
from pykbroker.process.data_folders import DataFolders, StartFailed
from pykbroker.process.housekeeping import Housekeeping
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.disk import Disk, RealDisk
from pykbroker.wire.errors import KafkaError, WireError

if TYPE_CHECKING:
    from pykbroker.config.listeners import Listener
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import DirectoryLock

log = logging.getLogger(__name__)

_SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


async def serve(
    config: BrokerConfig,
    brokers: int,
    announce: Callable[[str], None],
    *,
    racks: Sequence[str] | None = None,
    durable: bool = True,
) -> None:
    """Run a Node until SIGTERM or SIGINT, which count from the beginning: the first process of a container has no other
    way to be stopped. ``announce`` gets one line when clients are accepted. Raises StartFailed.
    """
    node = Node(config, brokers, racks=racks, durable=durable)
    node.server.stop_on_signals()
    await node.start()
    try:
        announce("pykbroker ready: " + ", ".join(f"broker {i} on {where}" for i, where in node.addresses().items()))
        await node.server.wait_stopped()
    finally:
        await node.stop()


class Node:
    """``brokers`` brokers over the data in the log directories of the settings. ``racks`` has one for each; without it
    all have broker.rack. It belongs to the event loop that runs when it is made.
    """

    def __init__(
        self,
        config: BrokerConfig,
        brokers: int = 1,
        *,
        racks: Sequence[str] | None = None,
        durable: bool = True,
        clock: Clock | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        for name in config.unknown:
            log.warning("The setting %s is not known to Kafka 4.3 and is ignored", name)
        self._folders = data_folders.named_by(config)
        self._config = data_folders.with_node_id(self._folders, config)
        self._durable = durable
        self._ids = [self._config.node_id + position for position in range(brokers)]
        self._racks = None if racks is None else dict(zip(self._ids, racks, strict=True))
        self._ports: dict[int, dict[str, int]] = {}
        self._locks: list[DirectoryLock] = []
        self._cluster: Cluster | None = None
        self._disk: RealDisk | None = None
        self._housekeeping: Housekeeping | None = None
        self._control = Control(self, self._folders.metadata)
        self._changing = asyncio.Lock()
        self._descriptors = descriptors.allowed()
        self._clock = clock or SystemClock()
        self.server = Server(asyncio.get_running_loop(), self._descriptors.connections, dispatcher)

    @property
    def cluster(self) -> Cluster:
        """What the brokers share, once they are started."""
        assert self._cluster is not None, "the node is not started"
        return self._cluster

    def addresses(self) -> dict[int, str]:
        """Where the first listener of every broker is, by node id."""
        first = self._config.listeners[0]
        return {node_id: f"{_reachable(first)}:{ports[first.name]}" for node_id, ports in self._ports.items()}

    # ---- all of them -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Come back when clients are accepted. Raises StartFailed; then nothing is left behind."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        config = self._config
        if config["authorizer.class.name"]:
            raise StartFailed(
                f"authorizer.class.name asks for {config['authorizer.class.name']}, and no access list is enforced yet: "
                "everybody may do everything here. Take the setting out if that is what you want."
            )
        self._ports = await _open_sockets(self.server, config, self._ids)
        await self._open()
        await self._control.open()

    async def _open(self) -> None:
        """Everything behind the sockets: the store, the brokers, and then the clients."""
        config = self._config
        self._locks = data_folders.lock(self._folders)
        self._disk = RealDisk(max_open=self._descriptors.files, durable=self._durable)
        cluster = self._cluster = _open_cluster(config, self._folders, self._disk, self._clock)
        self._housekeeping = Housekeeping(cluster, durable=self._durable)
        try:
            cluster.start_brokers(
                {
                    node_id: _advertised(config, position, self._ports[node_id])
                    for position, node_id in enumerate(self._ids)
                },
                self._racks,
            )
        except KafkaError as error:
            raise data_folders.unusable(self._folders.metadata, error) from error
        await self.server.start_serving(cluster)
        self._housekeeping.start()

    async def stop(self) -> None:
        """End everything in its order, with the marker of a clean stop. A broker that is just being stopped or started comes
        first.
        """
        self._control.close()
        async with self._changing:
            if self._housekeeping is not None:
                self._housekeeping.stop()
            await self.server.close()
            if self._cluster is not None:
                _shut_down(self._cluster)
                self._cluster = None
            while self._locks:
                self._locks.pop().release()

    async def begin_anew(self, config: BrokerConfig) -> None:
        """Drop the connections, the brokers and all that they know, and go on over the log directories of ``config``, on
        the same ports. Nothing is written to the old directories any more; the caller removes them. Raises StartFailed.
        """
        async with self._changing:
            self._control.close()
            if self._housekeeping is not None:
                self._housekeeping.stop()
            self.server.forget_cluster()
            self._cluster = None
            if self._disk is not None:
                self._disk.give_up()
            while self._locks:
                self._locks.pop().release()
            self._folders = data_folders.named_by(config)
            self._config = config
            await self._open()

    # ---- one of them -------------------------------------------------------------------------------------------------

    async def stop_broker(self, node_id: int, *, abrupt: bool = False) -> None:
        """Stop one broker while the others go on.

        As Kafka's controlled shutdown: what it leads moves to other replicas, its connections end when they have their
        answers, it is fenced. ``abrupt``: its connections are cut first, as when a machine fails.
        Raises WrongBroker, or KafkaError where the metadata log cannot be written.
        """
        async with self._changing:
            if node_id not in self._changeable().brokers:
                raise WrongBroker(self._not_one_of(node_id, "running"))
            if abrupt:
                self.server.sockets(node_id).cut()
            else:
                self.cluster.begin_stop(node_id)
                await self.server.sockets(node_id).finish()
            self.cluster.stop_broker(node_id)
        log.info("Broker %d was stopped%s", node_id, " abruptly" if abrupt else "")

    async def start_broker(self, node_id: int) -> None:
        """Start a broker that was stopped, on its ports. Its replicas are in sync at once; what it preferably leads comes
        back with an election. Raises WrongBroker, OSError where a port is taken, or KafkaError as ``stop_broker``.
        """
        async with self._changing:
            if node_id in self._changeable().brokers or node_id not in self._ids:
                raise WrongBroker(self._not_one_of(node_id, "stopped"))
            sockets = self.server.sockets(node_id)
            await sockets.open_again()
            try:
                self.cluster.start_broker(node_id)
            except KafkaError:
                sockets.close()
                raise
            await sockets.start_serving()
        log.info("Broker %d was started again", node_id)

    def describe(self) -> list[dict[str, Any]]:
        """The brokers for people: id, state, address, and how many partitions each leads. Raises WrongBroker."""
        leads = Counter(partition.leader for partition in self._changeable().partitions())
        return [
            {
                "id": node_id,
                "state": "running" if node_id in self.cluster.brokers else "stopped",
                "address": address,
                "leads": leads[node_id],
            }
            for node_id, address in self.addresses().items()
        ]

    def _changeable(self) -> Cluster:
        """The cluster. Raises WrongBroker when the process is about to end."""
        if self._cluster is None:
            raise WrongBroker("the process of these brokers is stopping")
        return self._cluster

    def _not_one_of(self, node_id: int, state: str) -> str:
        found = [str(each) for each in self._ids if (each in self.cluster.brokers) == (state == "running")]
        return f"broker {node_id} is not {state} in this process; these are: {', '.join(found) or 'none'}"


def _shut_down(cluster: Cluster) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - start-up counts

    with ThreadPoolExecutor(max_workers=8) as pool:
        try:
            cluster.shutdown(pool.map)
        except KafkaError as error:
            log.error("The stop was not a clean one (%s); the next start recovers", error)


async def _open_sockets(server: Server, config: BrokerConfig, ids: list[int]) -> dict[int, dict[str, int]]:
    """Open every listener of every broker; returns the ports: node id -> listener name -> port.

    The first broker has the ports of the settings; each further one the ports after it, or free ones for port 0.
    """
    ports: dict[int, dict[str, int]] = {}
    for position, node_id in enumerate(ids):
        ports[node_id] = {}
        for listener in config.listeners:
            if listener.security_protocol != "PLAINTEXT":
                raise StartFailed(
                    f"listener {listener.name} asks for {listener.security_protocol}, and only PLAINTEXT is served yet"
                )
            port = listener.port + position * len(config.listeners) if listener.port else 0
            bind = Bind(listener.name, listener.host or "", port)
            try:
                ports[node_id][listener.name] = await server.listen(node_id, bind, config["socket.request.max.bytes"])
            except OSError as error:
                raise StartFailed(
                    f"cannot listen on {listener.host or '*'}:{port} ({error.strerror or error}). If another broker "
                    "runs there, stop it or choose another port with --listen HOST:PORT (port 0 picks a free one)."
                ) from error
    return ports


def _advertised(config: BrokerConfig, position: int, ports: dict[str, int]) -> list[Endpoint]:
    """What clients are told: advertised.listeners, with the real port where it is that of the listener.

    A port of its own (a proxy's, say) is the first broker's; each further one has the ports after it, as in listening.
    """
    opened = {listener.name: listener for listener in config.listeners}
    endpoints = []
    for listener in config.advertised_listeners:
        port = listener.port + position * len(config.listeners)
        if config["advertised.listeners"] is None or listener.port == opened[listener.name].port:
            port = ports[listener.name]
        endpoints.append(
            Endpoint(listener.name, _reachable(listener), port, _SECURITY_PROTOCOL_IDS[listener.security_protocol])
        )
    return endpoints


def _reachable(listener: Listener) -> str:
    """A host for clients; a listener on every address is reached, from this machine, as localhost."""
    if listener.host in (None, "", "0.0.0.0", "::"):  # noqa: S104 - not bound here
        return "localhost"
    return listener.host


def _open_cluster(config: BrokerConfig, folders: DataFolders, disk: Disk, clock: Clock) -> Cluster:
    try:
        return Cluster.open(
            config,
            folders.metadata,
            disk,
            clock,
            random.SystemRandom(),
            others=folders.others,
            metadata_apart=folders.metadata_apart,
        )
    except (KafkaError, WireError, OSError, RuntimeError, ValueError) as error:
        raise data_folders.unusable(folders.metadata, error) from error
