"""The brokers of one process in memory: all is real but the disk, which is simulated, and the clock, which stands still."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pykbroker.brokers.broker import Broker
from pykbroker.brokers.cluster import Cluster, OwnStore
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.brokers.store import Store
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.controller import Controller
from pykbroker.controller.topics import NewTopic
from pykbroker.handlers.contract import NotYet
from pykbroker.metadata.image import Endpoint, MetadataImage
from pykbroker.partitions.partition import Partition
from pykbroker.process.copies import open_store
from pykbroker.process.log_directories import DirectoryPaths
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.peer_handlers import peer_handler
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.reading import committed_values
from pykbroker.tests.kit.serialising_port import serialising
from pykbroker.tests.kit.threads import HeldThreads
from pykbroker.wire.apis import response_class
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pykbroker.worlds.disk import SimulatedDisk

START_MS = 1_700_000_000_000
LISTENER = "PLAINTEXT"
#: The group of tests that need no more than one.
GROUP = "flights"
#: Kinds of keys that FindCoordinator knows.
GROUP_KEY, TRANSACTION_KEY = 0, 1
#: An isolation level.
COMMITTED = 1

#: How many turns of the loop an answer may take.
T = TypeVar("T")

MOST_TURNS = 10
#: Small topics of coordinators, and no waiting for members that tests do not have.
SETTINGS = {
    "listeners": f"{LISTENER}://127.0.0.1:0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


@dataclass(slots=True, eq=False, weakref_slot=True)
class Peer:
    """Who asks."""

    host: str = "127.0.0.1"
    port: int = 40_000
    local_host: str = "127.0.0.1"
    listener: str = LISTENER
    principal: str = "User:ANONYMOUS"
    by_token: bool = False
    client_software: tuple[str, str] = ("test", "1")
    time_spent: Any = None
    when_lost: Any = None
    is_lost: bool = False
    #: For how long it was muted, each time.
    mutes: list[float] = field(default_factory=list)

    def mute(self, ms: float) -> None:
        """Kept for the test to see: what is asked here does not come over a connection."""
        self.mutes.append(ms)

    def hold(self, until: Deferred[Any]) -> None:
        """Nothing to hold: each request here is handed in by itself."""

    def lose(self) -> None:
        """The connection has ended, as ``network/connection.py`` tells of it."""
        self.is_lost = True
        told, self.when_lost = self.when_lost, None
        for tell in (told or {}).values():
            tell()


class MemoryCluster:
    """See the module, and the package for how tests use it. Brokers count from 1; the settings have "_" for "."."""

    def __init__(
        self,
        brokers: int = 1,
        *,
        others: Sequence[Path] = (),
        racks: dict[int, str] | None = None,
        dispatcher: Dispatcher | None = None,
        seed: int = 7,
        own_stores: bool = False,
        **settings: str,
    ) -> None:
        self.ids = range(1, brokers + 1)
        self.racks = racks
        #: Whether each broker has copies of its own.
        self.own_stores = own_stores
        self.others = others
        self.settings = SETTINGS | {name.replace("_", "."): value for name, value in settings.items()}
        self.dispatcher = dispatcher or Dispatcher()
        self.disk = SimulatedDisk()
        self.clock = ManualClock(START_MS)
        self.random = random.Random(seed)
        self._correlation_id = 0
        self.start()

    # ---- The process

    def start(self) -> None:
        """Start on what the disk holds."""
        config = BrokerConfig(self.settings)
        self.cluster = Cluster.open(
            config,
            Path("/data/1" if self.own_stores else "/data"),
            self.disk,
            self.clock,
            self.random,
            others=self.others,
            port=serialising,
            own=OwnStore(1, peer_handler) if self.own_stores else None,
        )
        stores = {i: self.open_store(i) for i in self.ids[1:]} if self.own_stores else None
        self.lifecycle = BrokerLifecycle(self.cluster)
        members = {i: [Endpoint(LISTENER, f"host{i}", 9000 + i)] for i in self.ids}
        self.lifecycle.start_all(members, self.racks, stores)

    def open_store(self, broker: int) -> Store:
        """The store of a broker that has copies of its own, on what the disk holds."""
        paths = DirectoryPaths(Path(f"/data/{broker}"), (), metadata_apart=False)
        return open_store(self.cluster, paths, broker, self.disk, self.clock)

    def restart(self, *, kill: bool = False) -> None:
        """Stop, or be killed, and start anew."""
        if not kill:
            self.cluster.shutdown()
        self.start()

    def advance(self, ms: int) -> None:
        """Let time pass, and do what becomes due."""
        self.clock.advance(ms)
        self.run_turn()

    def run_turn(self) -> None:
        """What is due and what was left for the next turn of the loop, once."""
        self.cluster.runtime.timers.run_due()
        self.cluster.runtime.wake_queue.run()

    def settle(self) -> None:
        """Let syncs end, and what waits for them go on."""
        for _ in range(MOST_TURNS):
            self.cluster.runtime.wake_queue.run()

    def finished(self, wait: Deferred[T]) -> T:
        """The result of a change of the metadata, which goes in slices if it is large."""
        for _ in range(20 * MOST_TURNS):
            if wait.done:
                break
            self.cluster.runtime.wake_queue.run()
        return wait.value

    # ---- Faults

    def hold_threads(self, **options: Any) -> HeldThreads:
        """What is given to threads, syncs above all, waits until the test lets it run."""
        return HeldThreads(self.cluster.runtime, **options)

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """No write succeeds."""
        self.disk.fail = lambda _, operation: OSError(errno.ENOSPC, "full") if "write" in operation else None
        yield
        self.disk.fail = None

    @contextmanager
    def without(self, broker: int) -> Iterator[None]:
        """A broker stops; what it leads moves, and it comes back unless the process was started anew meanwhile."""
        self.stop_broker(broker)
        yield
        if broker not in self.cluster.brokers:
            self.lifecycle.start(broker)
        self.run_turn()

    def stop_broker(self, broker: int) -> None:
        self.lifecycle.begin_stop(broker)
        stopped = self.lifecycle.stop(broker)
        self.run_turn()
        for _ in range(20 * MOST_TURNS):
            if stopped.done:
                break
            self.run_turn()  # many leaders move in slices

    # ---- The metadata

    @property
    def broker(self) -> Broker:
        """The broker that requests are for that name none."""
        return self.cluster.brokers[self.asked_broker()]

    @property
    def controller(self) -> Controller:
        return self.cluster.local_controller

    @property
    def image(self) -> MetadataImage:
        return self.cluster.metadata.image

    def topic(self, name: str = "t", partitions: int = 2, **configs: str) -> bytes:
        """Create a topic; its id."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        return self.create(NewTopic(name, partitions, 1, configs=named))

    def create(self, *topics: NewTopic) -> bytes:
        """Create topics; the first one's id."""
        created = self.finished(self.cluster.controller.create_topics(topics))
        refused = [result for result in created.result if result.error]
        assert not refused, refused
        return self.image.topics[topics[0].name].id

    def delete_topic(self, name: str) -> None:
        self.cluster.controller.delete_topics([self.image.topics[name].id])
        self.cluster.runtime.wake_queue.run()

    def partition(self, topic: str, index: int = 0) -> Partition:
        found = self.cluster.partition(topic, index)
        assert found is not None, f"there is no {topic}-{index}"
        return found

    # ---- Requests

    def asked_broker(self) -> int:
        """Whom a request is for that names no broker."""
        return 1

    def post(
        self,
        request: Message,
        version: int,
        *,
        broker: int | None = None,
        listener: str = LISTENER,
        peer: Peer | None = None,
    ) -> Deferred[Any]:
        """A wait for the answer, decoded, as a client of this version reads it; ``peer`` is who asks, where that matters.
        Raises CloseConnection.
        """
        broker = self.asked_broker() if broker is None else broker
        self._correlation_id += 1
        frame = bytearray()
        encode_request_header(frame, RequestHeader(request.API_KEY, version, self._correlation_id, "client"))
        request.encode(frame, version)
        return self._hand_in(frame, broker, peer or Peer(listener=listener)).map(
            lambda pieces: None if pieces is None else self._decoded(request.API_KEY, version, pieces)
        )

    def _hand_in(self, frame: bytearray, broker: int, peer: Peer) -> Deferred[Any]:
        """The frame dies when the dispatcher has answered, as the block does in which a connection receives."""
        try:
            answer = self.dispatcher.answer(self.cluster.brokers[broker], peer, memoryview(frame))
        except NotYet as error:
            return error.until.chain(lambda _: self._hand_in(frame, broker, peer))
        frame[:] = b"\xff" * len(frame)
        return answer if isinstance(answer, Deferred) else Deferred.completed(answer)

    def _decoded(self, api_key: int, version: int, pieces: Any) -> Any:
        data = b"".join(bytes(piece) for piece in pieces)
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        _, start = decode_response_header(data, 4, api_key, version)
        answer, end = response_class(api_key).decode(data, start, version)
        assert end == len(data), f"{len(data) - end} bytes follow the answer"
        return answer

    def ask(
        self,
        request: Message,
        version: int,
        *,
        broker: int | None = None,
        listener: str = LISTENER,
        peer: Peer | None = None,
    ) -> Any:
        """The answer, which must not have to wait for more than the syncs under way, and so for some turns of the loop."""
        answer = self.post(request, version, broker=broker, listener=listener, peer=peer)
        for _ in range(MOST_TURNS):
            if answer.done:
                break
            self.cluster.runtime.wake_queue.run()
        assert answer.done, "the answer waits: for time to pass, or for another client"
        return answer.value

    # ---- What clients see

    def coordinator(self, key: str, kind: int = GROUP_KEY) -> int:
        """The broker that coordinates a group, or a transactional id; the topic for it is made if need be."""
        found: int = self.ask(FindCoordinatorRequest(key=key, key_type=kind), 3, broker=1).node_id
        return found

    def fetch(self, topic: str, index: int, offset: int, isolation: int = COMMITTED) -> Any:
        """What the leader has from an offset on, now."""
        partition = FetchPartition(index, -1, offset, -1, -1, 10_000_000)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=10_000_000,
            isolation_level=isolation,
            session_epoch=-1,
            topics=[FetchTopic(topic, partitions=[partition])],
        )
        answer = self.ask(request, 11, broker=self.partition(topic, index).leader)
        return answer.responses[0].partitions[0]

    def read(self, topic: str = "t", index: int = 0) -> list[bytes]:
        """Every committed value, found as a consumer finds it."""
        return committed_values(partial(self.fetch, topic, index), self.partition(topic, index).log_start_offset)

    def committed(self, group: str = GROUP, *, stable: bool = False) -> dict[tuple[str, int], int]:
        """The group's offsets; an error code stands as its negative."""
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)], require_stable=stable)
        (found,) = self.ask(request, 9, broker=self.coordinator(group)).groups
        assert not found.error_code, found
        return {
            (topic.name, each.partition_index): -each.error_code if each.error_code else each.committed_offset
            for topic in found.topics
            for each in topic.partitions
        }

    def state(self, transactional_id: str) -> str:
        """The state of a transaction, as it is shown."""
        request = DescribeTransactionsRequest([transactional_id])
        answer = self.ask(request, 0, broker=self.coordinator(transactional_id, TRANSACTION_KEY))
        state: str = answer.transaction_states[0].transaction_state
        return state
