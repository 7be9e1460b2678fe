"""A cluster on a simulated disk and a clock that stands still, and producers and readers that speak to its handlers."""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from pathlib import Path

from pykbroker.brokers.cluster import Cluster
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import Endpoint
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.simulation.simdisk import SimulatedDisk
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pykbroker.wire.records import Record, decode_records, encode_batch, iter_batches

GROUP = "readers"
START_MS = 1_700_000_000_000
COMMITTED = 1


class World:
    """A cluster that can be stopped, killed and started again on its disk."""

    def __init__(self, brokers: int = 1, *, others: Sequence[Path] = (), **settings: str) -> None:
        self.brokers = brokers
        self.others = others
        self.settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.num.partitions": "2",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.disk = SimulatedDisk()
        self.clock = ManualClock(START_MS)
        self.random = random.Random(7)
        self.start()

    def start(self) -> None:
        config = BrokerConfig(self.settings)
        self.cluster = Cluster.open(config, Path("/data"), self.disk, self.clock, self.random, others=self.others)
        ids = range(1, self.brokers + 1)
        self.cluster.start_brokers({i: [Endpoint("PLAINTEXT", f"host{i}", 9000 + i)] for i in ids})
        self.advance(0)

    def restart(self, *, kill: bool = True) -> None:
        if not kill:
            self.cluster.shutdown()
        self.start()

    def topic(self, name: str = "t", partitions: int = 2, **configs: str) -> None:
        named = {key.replace("_", "."): value for key, value in configs.items()}
        self.cluster.metadata.create_topics([NewTopic(name, partitions, 1, configs=named)])

    def advance(self, ms: int) -> None:
        """Let time pass, and do what becomes due."""
        self.clock.advance(ms)
        self.cluster.runtime.timers.run_due()
        self.cluster.runtime.wake_queue.run()

    def post(self, request, version: int, *, broker: int = 1) -> Deferred:
        """A Deferred of the answer, decoded, as a client of this version reads it."""
        module = importlib.import_module(f"pykbroker.handlers.{ApiKey(request.API_KEY).name.lower()}")
        encoded = bytearray()
        request.encode(encoded, version)
        received, _ = type(request).decode(bytes(encoded), 0, version)
        context = RequestContext(request.API_KEY, version, 1, "client", "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS")
        answer: Deferred = Deferred()

        def send(done: Deferred) -> None:
            try:
                response = done.value
            except KafkaError as error:
                response = module.failed(received, version, error)
            out = bytearray()
            response.encode(out, version)
            answer.complete(type(response).decode(bytes(out), 0, version)[0])

        try:
            response = module.handle(self.cluster.brokers[broker], context, received)
        except KafkaError as error:
            response = module.failed(received, version, error)
        (response if isinstance(response, Deferred) else Deferred.completed(response)).when_done(send)
        return answer

    def ask(self, request, version: int, **options):
        """The answer, which must not have to wait for more than the syncs under way."""
        answer = self.post(request, version, **options)
        self.settle()
        return answer.value

    def settle(self) -> None:
        """Let syncs end, and what waits for them go on."""
        for _ in range(10):
            self.cluster.runtime.wake_queue.run()

    # What readers see

    def fetch(self, topic: str, index: int, offset: int, isolation: int = COMMITTED):
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
        broker = self.cluster.partition(topic, index).leader
        return self.ask(request, 11, broker=broker).responses[0].partitions[0]

    def read(self, topic: str = "t", index: int = 0) -> list[bytes]:
        """Every committed value, found as a consumer finds it: by the aborted transactions and the markers."""
        values: list[bytes] = []
        offset = 0
        while True:
            found = self.fetch(topic, index, offset)
            assert found.error_code == 0, found
            data = bytes(found.records or b"")
            if not data:
                return values
            waiting = sorted((each.first_offset, each.producer_id) for each in found.aborted_transactions or ())
            aborting: set[int] = set()
            for position, header in iter_batches(data):
                while waiting and waiting[0][0] <= header.last_offset:
                    aborting.add(waiting.pop(0)[1])
                records = decode_records(data[position : position + header.size], header=header)
                if header.is_control:
                    if not decode_end_txn_marker(records[0]).commit:
                        aborting.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in aborting):
                    values += [record.value for record in records if record.offset >= offset]
                offset = header.last_offset + 1

    def committed(self, *, stable: bool = False) -> dict[tuple[str, int], int]:
        """The group's offsets; an error code stands as its negative."""
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)], require_stable=stable)
        return {
            (topic.name, each.partition_index): -each.error_code if each.error_code else each.committed_offset
            for topic in self.ask(request, 9, broker=self.coordinator(GROUP, kind=0)).groups[0].topics
            for each in topic.partitions
        }

    def coordinator(self, key: str, kind: int = 1) -> int:
        return self.ask(FindCoordinatorRequest(key=key, key_type=kind), 3).node_id

    def state(self, transactional_id: str) -> str:
        request = DescribeTransactionsRequest([transactional_id])
        return self.ask(request, 0, broker=self.coordinator(transactional_id)).transaction_states[0].transaction_state


class Producer:
    """A transactional producer of protocol 1 or 2. Methods return error codes."""

    def __init__(self, world: World, transactional_id: str, protocol: int = 2, timeout_ms: int = 60_000) -> None:
        self.world = world
        self.id = transactional_id
        self.protocol = protocol
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    @property
    def coordinator(self) -> int:
        return self.world.coordinator(self.id)

    def init(self, *, recover: bool = False) -> ErrorCode:
        """Begin a new incarnation, or go on after an error."""
        expected = (self.producer_id, self.epoch) if recover else (-1, -1)
        request = InitProducerIdRequest(self.id, self.timeout_ms, *expected)
        answer = self.world.ask(request, 4, broker=self.coordinator)
        if not answer.error_code:
            self._follow(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def started(self) -> Producer:
        """Initialised, however often that must be tried."""
        for _ in range(5):
            code = self.init()
            if code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            self.world.advance(1000)
        assert code is ErrorCode.NONE, code
        return self

    def _follow(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def add(self, topic: str = "t", *indexes: int) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, list(indexes))],
        )
        answer = self.world.ask(request, 3, broker=self.coordinator)
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def send(self, value: bytes, topic: str = "t", index: int = 0) -> ErrorCode:
        """Write one record in the transaction."""
        if self.protocol < 2 and (code := self.add(topic, index)):
            return code
        return self.write(value, topic, index)

    def write(self, value: bytes, topic: str = "t", index: int = 0) -> ErrorCode:
        """Write one record, whatever the coordinator knows of it."""
        sequence = self._sequences.get((topic, index), 0)
        batch = encode_batch(
            [Record(timestamp=self.world.clock.now_ms(), value=value)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index, batch)])]
        leader = self.world.cluster.partition(topic, index).leader
        request = ProduceRequest(self.id, -1, 1000, data)
        answer = self.world.ask(request, 12 if self.protocol == 2 else 9, broker=leader)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if code is ErrorCode.NONE:
            self._sequences[topic, index] = sequence + 1
        return code

    def commit_offset(self, offset: int, topic: str = "t", index: int = 0) -> ErrorCode:
        """Commit an offset of the group in the transaction."""
        who = (self.producer_id, self.epoch)
        if self.protocol < 2:
            answer = self.world.ask(AddOffsetsToTxnRequest(self.id, *who, GROUP), 3, broker=self.coordinator)
            if answer.error_code:
                return ErrorCode(answer.error_code)
        topics = [TxnOffsetCommitRequestTopic(topic, [TxnOffsetCommitRequestPartition(index, offset)])]
        request = TxnOffsetCommitRequest(self.id, GROUP, *who, topics=topics)
        broker = self.world.coordinator(GROUP, kind=0)
        answer = self.world.ask(request, 5 if self.protocol == 2 else 3, broker=broker)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool) -> ErrorCode:
        request = EndTxnRequest(self.id, self.producer_id, self.epoch, commit)
        answer = self.world.ask(request, 5 if self.protocol == 2 else 3, broker=self.coordinator)
        if self.protocol == 2 and not answer.error_code:
            self._follow(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def commit(self) -> ErrorCode:
        return self.end(commit=True)

    def abort(self) -> ErrorCode:
        return self.end(commit=False)
