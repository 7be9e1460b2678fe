"""A client that does what is allowed and what nobody expects: it leaves fetches waiting, contradicts itself, and deletes
records of transactions that are open.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from pykbroker.handlers.contract import CloseConnection
from pykbroker.simulation.clients.client import RETRY_MS, TRANSACTION, RequestRefused, SimulatedClient
from pykbroker.simulation.network import Disconnected, Link
from pykbroker.simulation.process import Steps
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World

_NAMED = 12  # the last Fetch version that names topics, and the first Metadata version that may ask by id
_LONG_MS = 3_600_000
_TRANSACTION_MS = 5000


class AdversarialClient(SimulatedClient):
    """``topic`` is its own, with one partition; ``topics`` are two others, of which it asks in contradictions."""

    def __init__(self, world: World, history: History, topic: str, topics: tuple[str, str]) -> None:
        super().__init__(world, history, "rude")
        self._topic = topic
        self._topics = topics
        self.stopped = False
        self.spawn(self._run())

    def _run(self) -> Steps[None]:
        while not self.stopped:
            work = self.random.choice(
                [self._close_a_session, self._close_a_session, self._cut, self._contradict, self._any_bytes, self._trim]
            )
            try:
                yield from work()
            except (Disconnected, RequestRefused):
                self.forget_leader((self._topic, 0))
            yield from self.pause(self.random.randint(RETRY_MS, 2000))

    # Fetches that wait

    def _waiting(self, *, session: bool) -> Steps[tuple[int, Link, int, Any]]:
        """A fetch at the end of the partition, on a connection of its own: node, connection, session, and its answer to be."""
        node = yield from self.leader((self._topic, 0))
        link = self.world.network.connect(node, self.name)
        first = yield link.send(self._fetch(0, epoch=0 if session else -1), _NAMED)
        found = first.responses[0].partitions[0]
        if found.error_code not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
            raise RequestRefused(self._topic, found.error_code)
        end = max(found.high_watermark, 0)
        max_wait_ms = self.random.choice([200, _LONG_MS])
        epoch = 1 if session and first.session_id else -1
        waiting = link.send(self._fetch(end, max_wait_ms, first.session_id, epoch), _NAMED)
        yield from self.pause(self.random.randint(0, 100))
        return node, link, first.session_id, waiting

    def _fetch(self, offset: int, max_wait_ms: int = 0, session_id: int = 0, epoch: int = -1) -> FetchRequest:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=1_000_000,
            session_id=session_id,
            session_epoch=epoch,
            topics=[FetchTopic(topic=self._topic, partitions=[wanted])],
        )

    def _close_a_session(self) -> Steps[None]:
        """While its fetch waits, behind it or from another connection."""
        node, link, session_id, waiting = yield from self._waiting(session=True)
        closing = link if self.random.random() < 0.5 else self.world.network.connect(node, self.name)
        end = FetchRequest(session_id=session_id, session_epoch=-1, min_bytes=1, max_bytes=1)
        done = closing.send(end, _NAMED)
        yield waiting
        yield done
        self.history.count("session closed under a fetch")
        link.cut()
        closing.cut()

    def _cut(self) -> Steps[None]:
        """The connection, while a fetch waits there."""
        _, link, _, _ = yield from self._waiting(session=self.random.random() < 0.5)
        link.cut()
        self.history.count("connection cut under a fetch")

    # Contradictions

    def _contradict(self) -> Steps[None]:
        """The id of one topic and the name of another; the id counts, and nobody is misled afterwards."""
        yield from self.partitions(self._topics)
        one, other = (self.topic_id(topic) for topic in self._topics)
        if one is None or other is None:
            return
        both = MetadataRequest(topics=[MetadataRequestTopic(topic_id=one, name=self._topics[1])])
        answer = yield from self.ask_somebody(both, _NAMED)
        if [topic.name for topic in answer.topics] != [self._topics[0]]:
            self.history.wrong(f"asked for the id of {self._topics[0]}, was told of {answer.topics}")
        plain = MetadataRequest(topics=[MetadataRequestTopic(name=self._topics[1])])
        answer = yield from self.ask_somebody(plain, _NAMED)
        if [topic.name for topic in answer.topics] != [self._topics[1]]:
            self.history.wrong(f"asked for {self._topics[1]}, was told of {answer.topics}")
        self.history.count("contradiction")

    def _any_bytes(self) -> Steps[None]:
        """A client id of any bytes, in a request that is as it should be."""
        client_id = self.random.randbytes(self.random.randint(0, 8))
        frame = struct.pack(">hhih", ApiKey.API_VERSIONS, 0, 1, len(client_id)) + client_id
        link = self.world.network.connect(self.random.choice(self.world.server.nodes), self.name)
        try:
            self.world.server.handle(link.node, link, memoryview(bytearray(frame)))
        except CloseConnection as error:
            self.history.wrong(f"a client id of {client_id!r} ends the connection: {error}")
        link.cut()
        yield from self.pause(0)

    # Records that go while their transaction is open

    def _trim(self) -> Steps[None]:
        """Write in a transaction, write without one, delete all of it; the transaction ends by its time limit."""
        start = InitProducerIdRequest(self.name, _TRANSACTION_MS)
        begun = yield from self.ask_coordinator(TRANSACTION, self.name, start, 4)
        if begun.error_code:
            self.forget_coordinator(TRANSACTION, self.name)
            return
        who = (begun.producer_id, begun.producer_epoch)
        adding = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=who[0],
            v3_and_below_producer_epoch=who[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(self._topic, [0])],
        )
        yield from self.ask_coordinator(TRANSACTION, self.name, adding, 3)
        for transactional in (True, False):
            yield from self._write(who if transactional else None)
        topics = [DeleteRecordsTopic(self._topic, [DeleteRecordsPartition(0, -1)])]
        answer = yield from self.ask_leader((self._topic, 0), DeleteRecordsRequest(topics, 1000), 2)
        if not answer.topics[0].partitions[0].error_code:
            self.history.count("open transaction trimmed")

    def _write(self, who: tuple[int, int] | None) -> Steps[None]:
        producer_id, epoch = who or (-1, -1)
        records = [Record(timestamp=self.world.clock.now_ms(), value=b"rude") for _ in range(3)]
        batch = encode_batch(
            records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=-1 if who is None else 0,
            transactional=who is not None,
        )
        data = [TopicProduceData(name=self._topic, partition_data=[PartitionProduceData(0, batch)])]
        transactional_id = None if who is None else self.name
        yield from self.ask_leader((self._topic, 0), ProduceRequest(transactional_id, -1, 1000, data), 9)
