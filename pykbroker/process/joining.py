"""A process as one broker of a cluster whose controllers are other processes (``process.roles=broker``), imported only then.

Kafka's order (BrokerServer.startup): follow the metadata log, register, catch up; then recover the logs and let replicas lead and follow;
then be unfenced; then accept clients. At the end the controllers move what the broker leads while it still answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

from pykbroker.brokers.cluster import Cluster, Governing, OwnStore
from pykbroker.brokers.forwarding import Forwarding
from pykbroker.brokers.joined_controller import JoinedController
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.brokers.recovering import recover_in_thread
from pykbroker.brokers.remote_peers import RemotePeers
from pykbroker.config.membership import Controllers, controllers
from pykbroker.controller.start import LOG_CONFIG
from pykbroker.metadata.ids import CLUSTER_METADATA_ID, random_id
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.process.life import awaited
from pykbroker.process.log_directories import DirectoryPaths, StartFailed
from pykbroker.process.outgoing_security import security_to
from pykbroker.quorum.controller_session import ControllerSession, RegisteredNode
from pykbroker.quorum.lifecycle import BrokerState
from pykbroker.quorum.metadata_replica import MetadataReplica
from pykbroker.quorum.observer import Address, Observer
from pykbroker.quorum.observing import Identity, MetadataObserver
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.waits import Deferred
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.manager import LogManager
from pykbroker.wire.primitives import uuid_from_str

if TYPE_CHECKING:
    import random

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.controller.port import ControllerPort
    from pykbroker.metadata.features import Features
    from pykbroker.metadata.image import Endpoint
    from pykbroker.network.nodes import NodeConnections
    from pykbroker.runtime.clock import Clock
    from pykbroker.security.client.settings import ClientSecurity
    from pykbroker.storage.disk import Disk

log = logging.getLogger(__name__)


class Ground(NamedTuple):
    """What a process stands on. ``connections`` makes connections to other nodes with some security; each use has its own, since a node
    answers the requests of one in their order, and some wait.
    """

    config: BrokerConfig
    paths: DirectoryPaths
    disk: Disk
    clock: Clock
    random: random.Random
    features: Features
    connections: Callable[[Callable[[], ClientSecurity | None]], NodeConnections]


class QuorumMember:
    """See the module. ``ended`` is told with a sentence when the broker has to end by itself."""

    def __init__(self, ground: Ground, endpoints: list[Endpoint], ended: Callable[[str], None]) -> None:
        config = ground.config
        self._ground = ground
        self._config = config
        self._endpoints = endpoints
        self._tell_ended = ended
        self._controllers: Controllers = controllers(config)
        self.node_id = config.node_id
        self.cluster_id = _cluster_id(ground)
        self._waits: list[tuple[BrokerState, Deferred[None]]] = []
        self._connections: list[NodeConnections] = []
        self._to_controllers: list[NodeConnections] = []
        self._lifecycle: BrokerLifecycle | None = None
        self._failure: str | None = None
        self._epoch = -1
        self.runtime = Runtime(ground.clock, ground.random)

    # -- the start ----------------------------------------------------------------------------------------------------

    async def open(self) -> BrokerLifecycle:
        """Follow the metadata, register, recover the logs, and have replicas lead and follow; ``runtime`` runs on the loop. Raises
        StartFailed, and what opening the log directories raises.
        """
        config, runtime = self._config, self.runtime
        self.logs = LogManager(
            self._ground.paths.metadata,
            self._ground.disk,
            self._ground.clock,
            node_id=self.node_id,
            cluster_id=self.cluster_id,
            random=self._ground.random,
            others=self._ground.paths.others,
            metadata_apart=self._ground.paths.metadata_apart,
        )
        self.logs.load()
        self._observing = self._observe()
        self._session = self._begin_session()
        self._observing.start()
        self._session.start()
        await self._reaches(BrokerState.RECOVERY)
        await awaited(recover_in_thread(self.logs, self._observing, config, self.node_id, runtime))
        lifecycle = self._lifecycle = BrokerLifecycle(self._cluster())
        self._epoch = self._session.lifecycle.epoch
        await awaited(lifecycle.start_registered(self.node_id, self._endpoints, self._epoch))
        return lifecycle

    async def unfence(self) -> None:
        """Have clients find the broker. Raises StartFailed."""
        self._session.ready()
        await self._reaches(BrokerState.RUNNING)

    def _connect(self) -> NodeConnections:
        """Connections to controllers. What one of them has not answered, since it is paused or cut off, is asked of the one that leads after it."""
        made = self._connected(self._security_to_controllers)
        self._to_controllers.append(made)
        return made

    def _leads(self, controller: Address) -> None:
        for each in self._to_controllers:
            each.leave_others(controller)
        self._session.hasten()

    @cached_property
    def _security_to_controllers(self) -> Callable[[], ClientSecurity | None]:
        return self._security(self._controllers.listener, "sasl.mechanism.controller.protocol")

    def _security(self, listener: str, mechanism: str) -> Callable[[], ClientSecurity | None]:
        return security_to(self._config, listener, mechanism, self._ground.clock, self._ground.random)

    def _connected(self, security: Callable[[], ClientSecurity | None]) -> NodeConnections:
        made = self._ground.connections(security)
        self._connections.append(made)
        return made

    def _observe(self) -> MetadataObserver:
        logs, disk = self.logs, self._ground.disk
        metadata = logs.open(CLUSTER_METADATA, CLUSTER_METADATA_ID, 0, LOG_CONFIG, has_other_replicas=True)

        def checkpoint() -> None:
            logs.note_checkpoints([metadata])
            logs.plan_checkpoints()()

        copy = MetadataReplica(metadata, disk, str(metadata.path), MetadataImage(self.cluster_id), checkpoint)
        copy.load()
        found = self._controllers
        voters = {node_id: Address(*where) for node_id, where in found.voters.items()}
        observer = Observer(
            copy,
            [Address(*where) for where in found.servers],
            voters,
            epoch=copy.known_epoch,
            high_watermark=copy.snapshot.offset,
        )
        return MetadataObserver(
            Identity(self.node_id, self.cluster_id, uuid_from_str(logs.metadata_directory_id)),
            observer,
            copy,
            self._connect(),
            self.runtime,
            self._config,
            self._end,
            static_voters=sorted(voters) or None,
            leads=self._leads,
        )

    def _begin_session(self) -> ControllerSession:
        node = RegisteredNode(
            self.node_id,
            self.cluster_id,
            random_id(self._ground.random),
            self._endpoints,
            [uuid_from_str(each) for each in self.logs.directory_ids],
            self._ground.features,
            self._config["broker.rack"],
            self.logs.previous_epoch,
        )
        connections = self._heartbeats = self._connect()
        return ControllerSession(node, self._observing, connections, self.runtime, self._config, self._changed)

    def _controller(self) -> JoinedController:
        limit_ms = self._config["controller.socket.timeout.ms"]
        return JoinedController(self._observing, self._connect(), self.runtime, self._session, limit_ms)

    def _cluster(self) -> Cluster:
        config = self._config
        self.forwarding = Forwarding(
            self._controller(), lambda: self._heartbeats.versions_at(self._observing.observer.leader)
        )
        listener, limit_ms = config.inter_broker_listener_name, config["replica.socket.timeout.ms"]
        security = self._security(listener, "sasl.mechanism.inter.broker.protocol")
        followed, peers, letter_peers = (
            RemotePeers(self._observing, self._connected(security), listener, limit_ms) for _ in range(3)
        )
        cluster = Cluster(
            config,
            self.logs,
            Governing(
                self._observing,
                cast("ControllerPort", self._controller()),
                self._ground.features,
                on_behalf=lambda ctx: cast("ControllerPort", self.forwarding.of(ctx)),
                peers=peers,
                letter_peers=letter_peers,
            ),
            self.runtime,
            OwnStore(self.node_id, peers=lambda _: followed),
        )
        cluster.store.begin()
        return cluster

    # -- the session --------------------------------------------------------------------------------------------------

    async def _reaches(self, state: BrokerState) -> None:
        wait: Deferred[None] = Deferred()
        self._waits.append((state, wait))
        self._look()
        await awaited(wait)

    def _look(self) -> None:
        """End the waits for a state that is reached, or that cannot be."""
        state = self._session.lifecycle.state
        waits, self._waits = self._waits, []
        for wanted, wait in waits:
            if self._failure is not None:
                wait.fail(StartFailed(self._failure))
            elif wanted.value <= state.value:
                wait.complete(None)
            else:
                self._waits.append((wanted, wait))

    def _changed(self, state: BrokerState) -> None:
        lifecycle = self._session.lifecycle
        if state is BrokerState.SHUTTING_DOWN and lifecycle.reason:
            self._end(
                f"The broker cannot be part of the cluster {self.cluster_id}: {lifecycle.reason}{self._too_high()}."
            )
        elif state is BrokerState.RUNNING and lifecycle.epoch != self._epoch and self._lifecycle is not None:
            self._epoch = lifecycle.epoch
            self._lifecycle.registered_again(self.node_id, lifecycle.epoch).or_log("beginning to replicate again")
        self._look()

    def _too_high(self) -> str:
        """The finalized levels that this broker does not support, if the metadata have any."""
        ranges = self._ground.features.ranges
        found = [
            f"{name} is at {level}, and levels {' to '.join(map(str, ranges.get(name, (0, 0))))} are known here"
            for name, level in sorted(self._observing.image.features.items())
            if level and not ranges.get(name, (0, 0))[0] <= level <= ranges.get(name, (0, 0))[1]
        ]
        return f" ({'; '.join(found)})" if found else ""

    def _end(self, sentence: str) -> None:
        if self._failure is None:
            self._failure = sentence
            log.error("%s", sentence)
            self._look()
            self._tell_ended(sentence)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def leave(self) -> None:
        """Have the controllers move what the broker leads, while it answers (KIP-631). Returns when it may end, or nobody answers."""
        if self._failure is None and self._config["controlled.shutdown.enable"]:
            self._session.begin_shutdown()
            await self._reaches(BrokerState.SHUTTING_DOWN)

    def close(self) -> None:
        """Ask nobody for anything any more."""
        if self._connections:
            self._session.end()
            self._observing.end()
        for each in self._connections:
            each.close()


def _cluster_id(ground: Ground) -> str:
    """The cluster id of the log directories. Raises StartFailed if they have none: a broker does not make a cluster."""
    paths = ground.paths
    for directory in (paths.metadata, *paths.others):
        found = checkpoints.read_meta_properties(ground.disk, str(directory)).get("cluster.id")
        if found is not None:
            return found
    raise StartFailed(
        f"the log directory {paths.metadata} is not formatted, so it does not say which cluster this broker is of: write the id of the cluster "
        "there with kafka-storage format --cluster-id ID --config FILE"
    )
