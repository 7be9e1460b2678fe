"""Machines with a broker and a disk each, and a controller apart from them, as ``--brokers N`` has them but for what lies between.

Everything that is on its way from one to another (a fetch, an answer, AlterPartition, records of the metadata) is in ``under_way``,
and arrives, or is lost, when whoever plays says so. So each broker is behind in the metadata by itself. What a broker does by itself it
does at once; time passes by ``pass_time`` alone. One topic, ``t`` if no other is named, has one partition, on all machines or on ``replicas``. Open ``passages`` for what their words say.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from pykbroker.brokers.cluster import Cluster, OwnStore
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.brokers.memory_peers import Passage
from pykbroker.brokers.store import Store
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.elections import ElectionType
from pykbroker.controller.port import ControllerPort
from pykbroker.controller.registrations import unfencing
from pykbroker.controller.topics import NewTopic
from pykbroker.handlers import fetch, produce
from pykbroker.metadata.answers import Answers
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import Endpoint, MetadataImage, PartitionImage
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.partitions.partition import Partition
from pykbroker.process.copies import open_store
from pykbroker.process.log_directories import DirectoryPaths
from pykbroker.requests.peer_handlers import peer_handler
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.security.context import RequestContext
from pykbroker.storage.log.log import Log
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import Record, decode_records, encode_batch, iter_batches
from pykbroker.worlds.disk import SimulatedDisk

if TYPE_CHECKING:
    from pykbroker.metadata.source import MetadataSource, Readying, Subscriber

T = TypeVar("T")

#: Stands for the controller where others are named by their node ids; the node that it is.
CONTROLLER: Final = 0
_CONTROLLER_NODE: Final = 100
TOPIC: Final = "t"
LAG_MS: Final = 10_000
_LISTENER = "PLAINTEXT"
_PRODUCE_VERSION = 9
_FETCH_VERSION = 11
_ALL = -1
_MOST_TURNS = 1000
_SETTINGS = {
    "listeners": f"{_LISTENER}://127.0.0.1:0",
    "node.id": str(_CONTROLLER_NODE),
    "replica.lag.time.max.ms": str(LAG_MS),
    "log.index.size.max.bytes": "1024",
}


class LoggedRecord(NamedTuple):
    """A record of a replica's log, each in a batch of its own."""

    offset: int
    epoch: int
    value: bytes


class MetadataCopy:
    """The metadata as one broker has them: an image of its own, into which records come in their order."""

    def __init__(self, source: MetadataImage) -> None:
        self.image = copy.deepcopy(source)
        self.answers = Answers()
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber, readying: Readying | None = None) -> Callable[[], None]:
        """See ``MetadataSource``; few partitions are changed at once, so nothing is made ready."""
        del readying
        self._subscribers.append(subscriber)
        return partial(self._subscribers.remove, subscriber)

    def apply(self, records: Sequence[MetadataRecord], offset: int, epoch: int) -> None:
        """Take the records of one change."""
        self.answers.forget()
        delta = MetadataDelta()
        for record in records:
            replay(self.image, record, delta)
        self.image.offset, self.image.epoch = offset, epoch
        for subscriber in list(self._subscribers):
            subscriber(self.image, delta)


class _Cluster(Cluster):
    """Each broker has its copy of the metadata; ``reopen`` opens the store of one that crashed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.copies: dict[int, MetadataCopy] = {}
        self.reopen: Callable[[int], Store]
        super().__init__(*args, **kwargs)

    def metadata_of(self, node_id: int) -> MetadataSource:
        return self.copies.get(node_id, self.metadata)

    def recover(self, store: Store, node_id: int) -> Deferred[None]:
        return Deferred.completed(None)  # ``reopen`` does, as a process that starts

    def usable_store(self, store: Store, node_id: int) -> Store:
        return store if store.usable else self.reopen(node_id)


class _Port:
    """The controller, to which AlterPartition is under way."""

    def __init__(self, controller: ControllerPort, ask: Callable[..., Deferred[AlterPartitionResponse]]) -> None:
        self._controller = controller
        self._ask = ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._controller, name)

    def alter_partition(self, request: AlterPartitionRequest) -> Deferred[AlterPartitionResponse]:
        return self._ask(self._controller, request)


class Machines:
    """See the module. Settings have "_" for ".". ``seed`` says what a power loss leaves of what was not synced."""

    def __init__(
        self,
        number: int = 3,
        *,
        topic: str = TOPIC,
        replicas: Sequence[int] | None = None,
        min_in_sync: int = 2,
        unclean: bool = False,
        seed: int = 1,
        **more: str,
    ) -> None:
        self.topic = topic
        self.ids = range(1, number + 1)
        self.clock = ManualClock()
        self.random = random.Random(seed)
        self.disks = {node: SimulatedDisk() for node in (CONTROLLER, *self.ids)}
        self.under_way: list[Passage] = []
        #: Pairs, from and to, between which nothing passes; with CONTROLLER for the controller.
        self.cut: set[tuple[int, int]] = set()
        #: Brokers that have ended without the controller's knowledge.
        self.unnoticed: set[int] = set()
        #: Told of what arrives, and of what is lost.
        self.notify: Callable[[str, Passage], None] = lambda _, __: None
        self._records: list[Sequence[MetadataRecord]] = []
        self._starting = -1
        settings = _SETTINGS | {name.replace("_", "."): value for name, value in more.items()}
        cluster = _Cluster.open(
            BrokerConfig(settings),
            Path("/controller"),
            self.disks[CONTROLLER],
            self.clock,
            self.random,
            port=lambda controller: cast("ControllerPort", _Port(controller, self._ask_controller)),
            own=OwnStore(_CONTROLLER_NODE, peer_handler),
        )
        assert isinstance(cluster, _Cluster)
        assert cluster.peers is not None
        self.cluster = cluster
        cluster.reopen = self._open_store
        cluster.peers.carry = self.under_way.append
        controller = self.controller = cluster.local_controller
        controller.prepare_with(self._note)
        controller.subscribe(self._publish)
        self.lifecycle = BrokerLifecycle(cluster)
        stores = {}
        for node in self.ids:
            cluster.copies[node] = MetadataCopy(self.image)
            stores[node] = self._open_store(node)
        endpoints = {node: [Endpoint(_LISTENER, f"host{node}", 9000 + node)] for node in self.ids}
        self.lifecycle.start_all(endpoints, None, stores)
        self._topic_settings = {
            "min.insync.replicas": str(min_in_sync),
            "unclean.leader.election.enable": str(unclean).lower(),
        }
        self.create(replicas or self.ids)
        self.quiet()

    def create(self, replicas: Sequence[int]) -> None:
        """Let the controller create the topic."""
        new = NewTopic(self.topic, assignments=[(0, list(replicas))], configs=self._topic_settings)
        self.controller.create_topics([new])

    def _open_store(self, node: int) -> Store:
        return open_store(
            self.cluster, DirectoryPaths(Path("/data"), (), metadata_apart=False), node, self.disks[node], self.clock
        )

    # -- the controller -----------------------------------------------------------------------------------------------

    @property
    def image(self) -> MetadataImage:
        """The metadata as the controller has them."""
        return self.cluster.metadata.image

    @property
    def state(self) -> PartitionImage:
        """The partition in it."""
        return self.image.topics[self.topic].partitions[0]

    def _note(self, records: Sequence[MetadataRecord]) -> None:
        self._records.append(list(records))

    def _publish(self, image: MetadataImage, _: MetadataDelta) -> None:
        records = self._records.pop(0)
        for node, own in self.cluster.copies.items():
            apply = partial(own.apply, records, image.offset, image.epoch)
            if node == self._starting:
                apply()
            elif node not in self.unnoticed:
                self.under_way.append(Passage(CONTROLLER, node, Published(records), apply, _kept))

    def _ask_controller(
        self, controller: ControllerPort, request: AlterPartitionRequest
    ) -> Deferred[AlterPartitionResponse]:
        answer: Deferred[AlterPartitionResponse] = Deferred()
        lose = partial(answer.fail, KafkaError(ErrorCode.NETWORK_EXCEPTION))
        node = request.broker_id

        def decide() -> None:
            decided = attempt(controller.alter_partition, request)
            back = partial(decided.pass_to, answer)
            self.under_way.append(Passage(CONTROLLER, node, decided.error or decided.value, back, lose))

        self.under_way.append(Passage(node, CONTROLLER, request, decide, lose))
        return answer

    # -- what may happen ----------------------------------------------------------------------------------------------

    def arriving(self) -> list[int]:
        """Which of ``under_way`` may arrive now; metadata come in their order."""
        behind: set[int] = set()
        found = []
        for number, passage in enumerate(self.under_way):
            if isinstance(passage.content, Published):
                if passage.receiver in behind:
                    continue
                behind.add(passage.receiver)
            if (passage.sender, passage.receiver) not in self.cut:
                found.append(number)
        return found

    def may_be_lost(self) -> list[int]:
        """Which of ``under_way`` may be lost: all but metadata, which are asked for again."""
        return [number for number, each in enumerate(self.under_way) if not isinstance(each.content, Published)]

    def arrive(self, number: int) -> None:
        """Let one of ``under_way`` arrive."""
        passage = self.under_way.pop(number)
        self.notify("arrives", passage)
        passage.arrive()
        self._work()

    def lose(self, number: int) -> None:
        """Let the connection of one of ``under_way`` end before it arrives; whoever asked learns of that."""
        passage = self.under_way.pop(number)
        self.notify("is lost", passage)
        passage.lose()
        self._work()

    def pass_time(self, ms: int) -> None:
        """Let time pass, and everybody do what is due."""
        self.clock.advance(ms)
        self._work()

    def quiet(self, rounds: int = 40) -> None:
        """Let everything arrive, and so much time pass that whoever rests goes on."""
        self.cut.clear()
        for _ in range(rounds):
            self.flow()
            self.pass_time(500)
        self.flow()

    def flow(self) -> None:
        """Let all that may arrive do so, in order."""
        self._work()
        for _ in range(_MOST_TURNS):
            arriving = self.arriving()
            if not arriving:
                return
            self.arrive(arriving[0])
        raise RuntimeError("messages go to and fro for ever")

    def isolate(self, node: int) -> None:
        """Cut a machine off from all others, and from the controller; it goes on by itself."""
        for other in (CONTROLLER, *self.ids):
            if other != node:
                self.cut |= {(node, other), (other, node)}

    def heal(self) -> None:
        """Nothing is cut any more."""
        self.cut.clear()

    def kill(self, node: int, *, power: bool = False) -> None:
        """End a broker as SIGKILL does, or with ``power`` as a power loss of its machine; the controller does not know yet."""
        self.unnoticed.add(node)
        ended = self.lifecycle.end_abruptly(node)
        assert ended.done  # of so few partitions
        for passage in [each for each in self.under_way if isinstance(each.content, Published)]:
            if passage.receiver == node:
                self.under_way.remove(passage)
        if power:
            self.disks[node].crash(self.random)
        self._work()

    def fence(self, node: int) -> None:
        """The session of a broker that was killed, or is cut off, ends at the controller."""
        self.controller.fence_broker(node)
        self._work()

    def unfence(self, node: int) -> None:
        """The heartbeat of a broker that was cut off reaches the controller again, which had fenced it."""
        own = self.controller.own_stores
        assert own is not None
        changes = _at_once(own.control.unfenced(node))
        self.controller.commit([unfencing(self.image.brokers[node]), *changes])
        self._work()

    def start(self, node: int) -> None:
        """Start a broker again that was killed. It knows the metadata up to its registration, as in Apache Kafka."""
        self.unnoticed.discard(node)
        self.cluster.copies[node] = MetadataCopy(self.image)
        self._starting = node
        try:
            self.lifecycle.start(node)
        finally:
            self._starting = -1
        self._work()

    def elect(self, node: int) -> None:
        """Let the controller make a replica in sync the leader."""
        self.controller.move_leader(self.topic, 0, node)
        self._work()

    def elect_unclean(self) -> None:
        """Let the controller elect a leader among those that live, whatever they lack."""
        self.controller.elect_leaders(ElectionType.UNCLEAN, [(self.topic, [0])])
        self._work()

    def check_lag(self, node: int) -> None:
        """Let a leader look for followers that lag, as it does every now and then."""
        partition = self.replica(node)
        if partition is not None and partition.led is not None:
            partition.led.check_lag()
        self._work()

    def _work(self) -> None:
        """Let brokers do what they do by themselves, until nothing is left for a next turn."""
        runtime = self.cluster.runtime
        for _ in range(_MOST_TURNS):
            runtime.timers.run_due()
            if not len(runtime.wake_queue):
                return
            runtime.wake_queue.run()
        raise RuntimeError("there is always work for another turn")

    # -- what is there ------------------------------------------------------------------------------------------------

    def replica(self, node: int) -> Partition | None:
        """The partition as a running broker has it."""
        broker = self.cluster.brokers.get(node)
        return None if broker is None else broker.store.partition(self.topic, 0)

    def log(self, node: int) -> Log | None:
        """The log of a running broker."""
        partition = self.replica(node)
        return None if partition is None else partition.opened_log

    def read(self, node: int, offset: int = 0) -> list[bytes] | int:
        """What a consumer gets that asks this broker for records from an offset on; the error code if there is one."""
        broker = self.cluster.brokers[node]
        asked = FetchPartition(0, fetch_offset=offset, partition_max_bytes=100_000)
        request = FetchRequest(
            replica_id=-1, max_bytes=100_000, session_epoch=-1, topics=[FetchTopic(self.topic, partitions=[asked])]
        )
        ctx = RequestContext(request.API_KEY, _FETCH_VERSION, 0, "client", "", _LISTENER, "User:ANONYMOUS")
        answer = fetch.handle(broker, ctx, request)
        assert isinstance(answer, FetchResponse)
        (found,) = answer.responses[0].partitions
        data = cast("bytes", found.records or b"")
        return found.error_code or [
            record.value or b""
            for position, header in iter_batches(data)
            for record in decode_records(data[position : position + header.size], header=header)
        ]

    def produce(self, node: int, value: bytes, acks: int = _ALL) -> Deferred[int]:
        """Ask a broker to append a record; the error code."""
        data = [
            TopicProduceData(
                self.topic, partition_data=[PartitionProduceData(0, bytearray(encode_batch([Record(value=value)])))]
            )
        ]
        request = ProduceRequest(acks=acks, timeout_ms=2**30, topic_data=data)
        return self.ask(node, produce, request, _PRODUCE_VERSION).map(_code)

    def ask(self, node: int, handler: Any, request: Message, version: int) -> Deferred[Any]:
        """A request of a client to a broker that runs."""
        ctx = RequestContext(request.API_KEY, version, 0, "client", "", _LISTENER, "User:ANONYMOUS")
        answer: Deferred[Any] = attempt(handler.handle, self.cluster.brokers[node], ctx, request)
        self._work()
        return answer


class Published(KafkaError):
    """Records of the metadata, on their way."""

    def __init__(self, records: Sequence[MetadataRecord]) -> None:
        super().__init__(ErrorCode.NONE)
        self.records = records


def _at_once(steps: Generator[float, None, T]) -> T:
    """The result of work that is divided over turns."""
    while True:
        try:
            next(steps)
        except StopIteration as over:
            return cast("T", over.value)


def _kept() -> None:
    raise RuntimeError("metadata are asked for until they are there")


def _code(response: ProduceResponse | None) -> int:
    assert response is not None
    code: int = response.responses[0].partition_responses[0].error_code
    return code


def records_of(log: Log, end: int | None = None) -> list[LoggedRecord]:
    """What a log has, up to ``end``."""
    found: list[LoggedRecord] = []
    offset = log.log_start_offset
    while (plan := log.plan_read(offset, 100_000)) is not None:
        data = bytes(plan.read())
        if not data:
            break
        for position, header in iter_batches(data):
            batch = data[position : position + header.size]
            found += [
                LoggedRecord(record.offset, header.partition_leader_epoch, record.value or b"")
                for record in decode_records(batch, header=header)
            ]
            offset = header.last_offset + 1
    return found if end is None else [each for each in found if each.offset < end]
