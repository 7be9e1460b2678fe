"""Many groups and many transactional ids that are used at the same time and then left: what becomes due because of them
becomes due together, and is more than one batch holds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.simulation.clients.client import GROUP, RETRY_MS, TRANSACTION, RequestRefused, SimulatedClient
from pykbroker.simulation.network import Disconnected
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World
    from pykbroker.wire.message import Message

#: Long names fill batches with few records.
_PADDING = "-of-a-crowd-whose-names-are-rather-long"
_TRIES = 5
TIMEOUT_MS = 4000


class Crowd(SimulatedClient):
    """Groups commit for ``partitions`` and for the topic ``side``, which may be deleted and made again; each transactional
    id begins a transaction in one of ``partitions`` and never ends it.
    """

    def __init__(
        self, world: World, history: History, partitions: list[tuple[str, int]], *, side: str, size: int = 80
    ) -> None:
        super().__init__(world, history, "crowd")
        self._partitions = partitions
        self._side = side
        self._committed = 0
        self._committing: set[str] = set()
        #: What was committed for the side topic, and the id of the topic that it was committed for.
        self._committed_for: dict[int, bytes] = {}
        self.groups = [f"group-{number}{_PADDING}" for number in range(size)]
        self.transactional_ids = [f"tx-{number}{_PADDING}" for number in range(size)]
        self.stopped = False
        #: When anything was asked for last.
        self.last_used_ms = 0
        for work in (self._commit_once, self._transact, self._come_back):
            self.spawn(work())

    def _commit_once(self) -> Steps[None]:
        for group in self.groups:
            yield from self._tried(partial(self._commit, group))

    def _transact(self) -> Steps[None]:
        for name in self.transactional_ids:
            yield from self._tried(partial(self._begin, name))

    def _come_back(self) -> Steps[None]:
        """Now and then one of the groups commits again, or looks at what it committed."""
        while not self.stopped:
            group = self.random.choice(self.groups)
            work = self._commit if self.random.random() < 0.3 else self._look
            try:
                yield from work(group)
            except (Disconnected, RequestRefused):
                self.forget_coordinator(GROUP, group)
            yield from self.pause(self.random.randint(1, 400))

    def _tried(self, work: Callable[[], Steps[None]]) -> Steps[None]:
        for _ in range(_TRIES):
            if self.stopped:
                return
            try:
                yield from work()
            except (Disconnected, RequestRefused):
                yield from self.pause(RETRY_MS)
            else:
                return

    def ask(self, node: int, request: Message, version: int) -> Steps[Any]:
        self.last_used_ms = self.world.now_ms
        return (yield from super().ask(node, request, version))

    # Groups

    def _commit(self, group: str) -> Steps[None]:
        """One commit of a group at a time: two on their way may arrive in either order."""
        if group in self._committing:
            return
        self._committing.add(group)
        try:
            yield from self._commit_single(group)
        finally:
            self._committing.discard(group)

    def _commit_single(self, group: str) -> Steps[None]:
        yield from self.partitions([self._side])
        side_id = self.topic_id(self._side)
        asked = [
            OffsetCommitRequestTopic(topic_id=topic_id, partitions=[self._next_offset(index)])
            for topic_id, index in [*(yield from self._ids()), *([(side_id, 0)] if side_id else [])]
        ]
        if side_id is not None:
            self._committed_for[self._committed] = side_id
        request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=asked)
        answer = yield from self.ask_coordinator(GROUP, group, request, 10)
        for topic in answer.topics:
            for partition in topic.partitions:
                if partition.error_code and topic.topic_id != side_id:
                    self.forget_coordinator(GROUP, group)
                    raise RequestRefused("OffsetCommit", partition.error_code)
        self.history.count("offsets of a crowd")

    def _ids(self) -> Steps[list[tuple[bytes, int]]]:
        topic, index = self.random.choice(self._partitions)
        if self.topic_id(topic) is None:
            yield from self.partitions([topic])
        topic_id = self.topic_id(topic)
        return [] if topic_id is None else [(topic_id, index)]

    def _next_offset(self, index: int) -> OffsetCommitRequestPartition:
        self._committed += 1
        return OffsetCommitRequestPartition(partition_index=index, committed_offset=self._committed)

    def _look(self, group: str) -> Steps[None]:
        """A topic that was made again has none of the offsets of the former one."""
        yield from self.partitions([self._side])
        before = self.topic_id(self._side)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)])
        answer = yield from self.ask_coordinator(GROUP, group, request, 9)
        found = answer.groups[0]
        if found.error_code:
            raise RequestRefused("OffsetFetch", found.error_code)
        yield from self.partitions([self._side])
        if before is None or self.topic_id(self._side) != before:
            return
        for topic in found.topics:
            for partition in topic.partitions if topic.name == self._side else ():
                offset = partition.committed_offset
                if self._committed_for.get(offset, before) != before:
                    self.history.wrong(
                        f"{group} is given {offset} for {self._side}, which it committed for a former one"
                    )
                self.history.count("offset of a crowd looked at")

    # Transactions

    def _begin(self, name: str) -> Steps[None]:
        where = self.random.choice(self._partitions)
        answer = yield from self.ask_coordinator(TRANSACTION, name, InitProducerIdRequest(name, TIMEOUT_MS), 4)
        self._check(name, answer.error_code)
        producer = (answer.producer_id, answer.producer_epoch)
        topics = [AddPartitionsToTxnTopic(where[0], [where[1]])]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics,
        )
        answer = yield from self.ask_coordinator(TRANSACTION, name, request, 3)
        self._check(name, answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
        value = f"{name}/{producer[0]}/{producer[1]}".encode()
        self.history.begin(name, self.world.now_ms).sending(where, [value])
        batch = encode_batch(
            [Record(timestamp=self.world.clock.now_ms(), value=value)],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=0,
            transactional=True,
        )
        data = [TopicProduceData(name=where[0], partition_data=[PartitionProduceData(where[1], batch)])]
        yield from self.ask_leader(where, ProduceRequest(name, -1, 1000, data), 9)
        self.history.count("transaction of a crowd")

    def _check(self, name: str, code: int) -> None:
        if code:
            self.forget_coordinator(TRANSACTION, name)
            raise RequestRefused(name, ErrorCode(code))
