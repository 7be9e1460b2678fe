"""A node of ours on a disk in memory, which observes the controllers of ``controllers.py``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from pykbroker.controller.start import LOG_CONFIG
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.ids import CLUSTER_METADATA_ID
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.quorum.metadata_replica import MetadataReplica
from pykbroker.quorum.observer import Address, Observer
from pykbroker.quorum.observing import Identity, MetadataObserver
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.storage.directories.manager import LogManager
from pykbroker.tests.quorum.controllers import CLUSTER, NODES, Controllers
from pykbroker.worlds.disk import SimulatedDisk

#: So small that snapshots have pieces.
CONFIG = MappingProxyType(
    {
        "controller.quorum.fetch.max.bytes": 1_048_576,
        "controller.quorum.fetch.snapshot.max.bytes": 100,
        "controller.quorum.request.timeout.ms": 2000,
        "controller.quorum.retry.backoff.ms": 20,
    }
)
#: Node 4's identity, and its servers: those of the quorum but the first, so that the leader has to be found.
NODE, SERVERS = 4, (NODES[2], NODES[3])
_STEPS = 1000


class Node:
    """``start`` begins to observe; ``step`` has one request answered, ``settle`` all until nothing is new."""

    def __init__(self, controllers: Controllers | None = None, *, cluster_id: str = CLUSTER) -> None:
        self.controllers = controllers or Controllers()
        self.cluster_id = cluster_id
        self.disk = SimulatedDisk()
        self.clock = ManualClock()
        self.start()

    def start(self, servers: Sequence[Address] = SERVERS) -> None:
        """Open the folder, whatever the last run left, and observe."""
        #: The sentences with which the observer ended, and what subscribers were told.
        self.failures: list[str] = []
        self.told: list[tuple[int, MetadataDelta]] = []
        #: The controllers that were found to lead.
        self.leaders: list[Address] = []
        path = Path("/data")
        self.logs = LogManager(
            path, self.disk, self.clock, node_id=NODE, cluster_id=self.cluster_id, random=random.Random(1)
        )
        self.logs.load()
        self.runtime = Runtime(self.clock, random.Random(2))
        self.log = self.logs.open(CLUSTER_METADATA, CLUSTER_METADATA_ID, 0, LOG_CONFIG, has_other_replicas=True)
        self.image = MetadataImage(self.cluster_id)
        self.directory = str(self.log.path)
        self.copy = MetadataReplica(self.log, self.disk, self.directory, self.image, self._checkpoint)
        self.copy.load()
        mark = self.copy.snapshot.offset
        self.observer = Observer(self.copy, servers, epoch=self.copy.known_epoch, high_watermark=mark)
        identity = Identity(NODE, self.cluster_id, bytes(range(16)))
        self.observing = MetadataObserver(
            identity,
            self.observer,
            self.copy,
            self.controllers,
            self.runtime,
            CONFIG,
            self.failures.append,
            leads=self.leaders.append,
        )
        self.observing.subscribe(lambda image, delta: self.told.append((image.offset, delta)))
        self.observing.start()

    def _checkpoint(self) -> None:
        self.logs.note_checkpoints([self.log])
        self.logs.plan_checkpoints()()

    def stop(self) -> None:
        """Without a word to anybody."""
        self.observing.end()
        self.controllers.pending.clear()

    def restart(self) -> None:
        """A clean shutdown, and a new start."""
        self.stop()
        self.logs.shutdown()
        self.start()

    def crash(self, seed: int = 0) -> None:
        """A power loss, and a new start."""
        self.stop()
        self.disk.crash(random.Random(seed))
        self.start()

    def rest(self) -> None:
        """Let all that waits for time or for a turn go on."""
        while self.runtime.wake_queue:
            self.runtime.wake_queue.run()
        if not self.controllers.pending:
            self.clock.advance(20)
            self.runtime.timers.run_due()

    def step(self) -> None:
        """One request is answered, if there is one."""
        self.rest()
        if self.controllers.pending:
            self.controllers.answer()
            self.rest()

    def settle(self) -> None:
        """Until this node has the log and its high watermark, or has ended."""
        controllers = self.controllers
        for _ in range(_STEPS):
            if self.failures or self.has_all():
                return
            self.step()
        raise AssertionError(f"at {self.copy.end_offset} of {controllers.end}, {self.observer.ask}")

    def has_all(self) -> bool:
        controllers, copy = self.controllers, self.copy
        marks = copy.end_offset, copy.last_epoch, self.observer.high_watermark
        is_busy = bool(self.runtime.wake_queue) or self.observer.ask is None
        return not is_busy and marks == (controllers.end, controllers.batches[-1].epoch, controllers.high_watermark)

    def bytes_of_log(self) -> bytes:
        """All of the log."""
        return b"".join(bytes(data) for _, data in self.log.batches(self.log.log_start_offset))
