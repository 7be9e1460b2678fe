"""A process of brokers from its start to its end: store, metadata, cluster, sockets, and the way back.

The order matters. The store comes first, since it may have to recover; the sockets are opened before the brokers
register, since a free port is only known then; nobody is accepted before the metadata names the brokers; and at the
end the logs are closed last, with the marker that spares the next start a recovery.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pykbroker import data_folders
from pykbroker.clock import SystemClock
from pykbroker.cluster import Cluster
from pykbroker.config.broker import BrokerConfig
from pykbroker.data_folders import DataFolders, StartFailed
from pykbroker.housekeeping import Housekeeping
from pykbroker.metadata.image import Endpoint
from pykbroker.server import Bind, Server
from pykbroker.storage.disk import RealDisk
from wire.errors import KafkaError, WireError

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.config.listeners import Listener

log = logging.getLogger(__name__)

_SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


async def serve(config: BrokerConfig, brokers: int, announce: Callable[[str], None], *, durable: bool = True) -> None:
    """Run ``brokers`` brokers over the data in the log directories of the settings until SIGTERM or SIGINT.

    ``announce`` gets one line when clients are accepted. Raises StartFailed.
    """
    for name in config.unknown:
        log.warning("The setting %s is not known to Kafka 4.3 and is ignored", name)
    folders = data_folders.named_by(config)
    config = data_folders.with_node_id(folders, config)
    server = Server(asyncio.get_running_loop())
    ids = [config.node_id + index for index in range(brokers)]
    members: dict[int, Broker] = {}
    bound = await _open_sockets(server, config, ids, members)
    locks = data_folders.lock(folders)
    cluster = _open_cluster(config, folders, durable=durable)
    housekeeping = Housekeeping(cluster, durable=durable)
    try:
        cluster.start_brokers(
            {node_id: _advertised(config, position, bound[node_id]) for position, node_id in enumerate(ids)}
        )
        members.update(cluster.brokers)
        await server.start_serving(cluster)
        housekeeping.start()
        server.stop_on_signals()
        announce("pykbroker ready: " + ", ".join(f"broker {i} on {_address(config, bound[i])}" for i in ids))
        await server.wait_stopped()
    finally:
        housekeeping.stop()
        await server.close()
        _shut_down(cluster)
        for lock in locks:
            lock.release()


def _shut_down(cluster: Cluster) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - start-up counts

    with ThreadPoolExecutor(max_workers=8) as pool:
        try:
            cluster.shutdown(pool.map)
        except KafkaError as error:
            log.error("The stop was not a clean one (%s); the next start recovers", error)


async def _open_sockets(
    server: Server, config: BrokerConfig, ids: list[int], members: dict[int, Broker]
) -> dict[int, dict[str, int]]:
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
                ports[node_id][listener.name] = await server.listen(
                    bind, partial(members.__getitem__, node_id), config["socket.request.max.bytes"]
                )
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


def _address(config: BrokerConfig, ports: dict[str, int]) -> str:
    """Where the first listener is, for the ready line."""
    first = config.listeners[0]
    return f"{_reachable(first)}:{ports[first.name]}"


def _open_cluster(config: BrokerConfig, folders: DataFolders, *, durable: bool) -> Cluster:
    try:
        return Cluster.open(
            config,
            folders.metadata,
            RealDisk(durable=durable),
            SystemClock(),
            random.SystemRandom(),
            others=folders.others,
            metadata_apart=folders.metadata_apart,
        )
    except (KafkaError, WireError, OSError, RuntimeError, ValueError) as error:
        raise data_folders.unusable(folders.metadata, error) from error
