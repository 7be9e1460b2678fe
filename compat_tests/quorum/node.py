"""A node of ours beside controllers of Apache Kafka: it observes the metadata log and registers, on this process's loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from pykbroker.controller.start import LOG_CONFIG
from pykbroker.metadata.features import CURRENT
from pykbroker.metadata.ids import CLUSTER_METADATA_ID
from pykbroker.metadata.image import Endpoint, MetadataImage
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.network.nodes import NodeConnections
from pykbroker.quorum.controller_session import ControllerSession, RegisteredNode
from pykbroker.quorum.metadata_replica import MetadataReplica
from pykbroker.quorum.observer import Address, Observer
from pykbroker.quorum.observing import Identity, MetadataObserver
from pykbroker.runtime.clock import SystemClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.primitives import uuid_from_str

CONFIG = MappingProxyType(
    {
        "controller.quorum.fetch.max.bytes": 1_048_576,
        "controller.quorum.fetch.snapshot.max.bytes": 2_000,  # so that a snapshot has pieces
        "controller.quorum.request.timeout.ms": 2000,
        "controller.quorum.retry.backoff.ms": 20,
        "broker.heartbeat.interval.ms": 500,
        "broker.session.timeout.ms": 3000,
        "log.dir.failure.timeout.ms": 30_000,
    }
)
#: A guard against waiting for ever.
_LIMIT_S = 120.0


class OurNode:
    """``start`` and ``stop`` it on a running loop, as often as wanted: the folder stays."""

    def __init__(self, folder: Path, cluster_id: str, servers: Sequence[str], *, node_id: int = 4) -> None:
        self.folder = folder
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.servers = [Address(host, int(port)) for host, _, port in (each.partition(":") for each in servers)]
        #: The sentences with which the observer ended.
        self.failures: list[str] = []
        self.session: ControllerSession | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        disk, clock = RealDisk(), SystemClock()
        self.folder.mkdir(exist_ok=True)
        self.logs = LogManager(
            self.folder,
            disk,
            clock,
            node_id=self.node_id,
            cluster_id=self.cluster_id,
            random=random.Random(str(self.folder)),
        )
        self.logs.load()
        self.runtime = Runtime(clock, random.Random(2))
        self.runtime.wake_queue.run_by(loop.call_soon)
        self.runtime.timers.wake_by(lambda at: loop.call_later(at - clock.monotonic(), self._run_due) and None)
        log = self.logs.open(CLUSTER_METADATA, CLUSTER_METADATA_ID, 0, LOG_CONFIG, has_other_replicas=True)
        self.image = MetadataImage(self.cluster_id)

        def checkpoint() -> None:
            self.logs.note_checkpoints([log])
            self.logs.plan_checkpoints()()

        self.copy = MetadataReplica(log, disk, str(log.path), self.image, checkpoint)
        self.copy.load()
        observer = Observer(
            self.copy, self.servers, epoch=self.copy.known_epoch, high_watermark=self.copy.snapshot.offset
        )
        self.connections = NodeConnections(loop, f"broker-{self.node_id}")
        identity = Identity(self.node_id, self.cluster_id, uuid_from_str(self.logs.metadata_directory_id))
        self.observing = MetadataObserver(
            identity, observer, self.copy, self.connections, self.runtime, CONFIG, self._ended
        )
        self._watchers: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self.observing.subscribe(lambda image, delta: self._look())
        self.observing.start()

    def register(self, previous_epoch: int = -1, patience_ms: int = 60_000) -> ControllerSession:
        """Begin a session with the controllers, or give up after ``patience_ms``; nothing listens where it says."""
        directories = [uuid_from_str(each) for each in self.logs.directory_ids]
        endpoints = [Endpoint("PLAINTEXT", "127.0.0.1", 9092)]
        node = RegisteredNode(
            self.node_id, self.cluster_id, uuid4().bytes, endpoints, directories, CURRENT, None, previous_epoch
        )
        self.session = ControllerSession(
            node,
            self.observing,
            self.connections,
            self.runtime,
            {**CONFIG, "initial.broker.registration.timeout.ms": patience_ms},
            lambda state: self._look(),
        )
        self.session.start()
        return self.session

    def stop(self) -> None:
        """As a crash, but for what the disk has."""
        if self.session is not None:
            self.session.end()
        self.observing.end()
        self.connections.close()
        self.logs.shutdown()

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait for a change of the image after which ``met`` is true, or for the end."""
        if not met():
            future = asyncio.get_running_loop().create_future()
            self._watchers.append((met, future))
            await asyncio.wait_for(future, _LIMIT_S)

    def _look(self) -> None:
        for met, future in self._watchers:
            if met() and not future.done():
                future.set_result(None)

    def _ended(self, sentence: str) -> None:
        self.failures.append(sentence)
        self._look()

    def _run_due(self) -> None:
        timers = self.runtime.timers
        timers.run_due()
        deadline = timers.next_deadline()
        if deadline is not None:
            delay = deadline - self.runtime.clock.monotonic()
            asyncio.get_running_loop().call_later(max(0.0, delay), self._run_due)


def log_bytes(folder: Path) -> bytes:
    """All of a metadata log, segment after segment."""
    segments = sorted((folder / f"{CLUSTER_METADATA}-0").glob("*.log"))
    return b"".join(each.read_bytes() for each in segments)
