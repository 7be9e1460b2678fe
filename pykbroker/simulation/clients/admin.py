"""An administrator who does what administrators do, at the worst moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import GROUP, RETRY_MS, TRANSACTION, RequestRefused, SimulatedClient
from pykbroker.simulation.network import Disconnected
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World


#: The value of records that nobody counts.
NOBODYS = b"side"

#: Of a topic whose records are all on the disk before they are answered.
_SYNCED = {"flush.messages": "1"}


class Admin(SimulatedClient):
    """Makes and deletes the topic ``side``, adds partitions to ``grown``, deletes ``group``, fences producers."""

    def __init__(
        self, world: World, history: History, *, side: str, grown: str, group: str, transactional_ids: list[str]
    ) -> None:
        super().__init__(world, history, "admin")
        self._side = side
        self._grown = grown
        self._group = group
        self._transactional_ids = transactional_ids
        self.stopped = False
        self.spawn(self._run())

    def _run(self) -> Steps[None]:
        work: list[Callable[[], Steps[None]]] = [
            self._make_topic,
            self._fill_topic,
            self._fill_topic,
            self._delete_records,
            self._delete_topic,
            self._make_topic_again,
            self._add_partition,
            self._delete_group,
            self._fence,
        ]
        while not self.stopped:
            yield from self._tried(self.random.choice(work))
            yield from self.pause(self.random.randint(RETRY_MS, 3000))

    def delete_topic(self) -> None:
        """Delete the topic now, whatever else is being done, and perhaps make another one."""
        self.spawn(self._tried(self.random.choice((self._delete_topic, self._make_topic_again))))

    def delete_topic_under_writes(self) -> None:
        """Delete the topic before it is known what became of some records."""
        self.spawn(self._tried(self._delete_under_writes))

    def _tried(self, work: Callable[[], Steps[None]]) -> Steps[None]:
        try:
            yield from work()
        except (Disconnected, RequestRefused):
            self.history.count("administration failed")

    def _delete_under_writes(self) -> Steps[None]:
        yield from self._make_topic()
        yield from self.leader((self._side, 0))
        for _ in range(self.random.randint(2, 4)):
            self.spawn(self._tried(self._fill_topic))
            yield from self.pause(self.random.randint(1, 5))
        yield from self.random.choice((self._delete_topic, self._make_topic_again))()

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> Steps[None]:
        """See to it that a topic is there."""
        named = [CreatableTopicConfig(name, value) for name, value in (configs or {}).items()]
        request = CreateTopicsRequest([CreatableTopic(name, partitions, -1, configs=named)])
        while True:
            answer = yield from self.ask_somebody(request, 7)
            if answer.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                return
            yield from self.pause(RETRY_MS)

    def _make_topic(self) -> Steps[None]:
        configs = self.random.choice(({}, _SYNCED))
        yield from self.create_topic(self._side, self.random.randint(1, 2), configs)

    def _fill_topic(self) -> Steps[None]:
        """Records without a producer id: they may come twice, and nobody counts them."""
        batch = encode_batch([Record(timestamp=self.world.clock.now_ms(), value=NOBODYS) for _ in range(5)])
        data = [TopicProduceData(name=self._side, partition_data=[PartitionProduceData(0, batch)])]
        yield from self.ask_leader((self._side, 0), ProduceRequest(None, -1, 1000, data), 9)

    def _delete_records(self) -> Steps[None]:
        topics = [DeleteRecordsTopic(self._side, [DeleteRecordsPartition(0, -1)])]
        answer = yield from self.ask_leader((self._side, 0), DeleteRecordsRequest(topics, 1000), 2)
        if not answer.topics[0].partitions[0].error_code:
            self.history.count("records deleted")

    def _delete_topic(self) -> Steps[None]:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(self._side)], timeout_ms=1000)
        answer = yield from self.ask(self.random.choice(self.world.server.nodes), request, 6)
        self.forget_leader((self._side, 0))
        if not answer.responses[0].error_code:
            self.history.count("topic deleted")

    def _make_topic_again(self) -> Steps[None]:
        """What was meant for the old one, markers above all, may still be under way."""
        yield from self._delete_topic()
        yield from self._make_topic()

    def _add_partition(self) -> Steps[None]:
        there = yield from self.partitions([self._grown])
        if len(there) < 4:
            request = CreatePartitionsRequest([CreatePartitionsTopic(self._grown, len(there) + 1, None)], 1000)
            yield from self.ask(self.random.choice(self.world.server.nodes), request, 3)
            self.history.count("partition added")

    def _delete_group(self) -> Steps[None]:
        """Refused while it has members, and it mostly has."""
        self.history.deleting(self._group)
        answer = yield from self.ask_coordinator(GROUP, self._group, DeleteGroupsRequest([self._group]), 2)
        if answer.results[0].error_code == ErrorCode.NONE:
            self.history.count("group deleted")
        else:
            self.forget_coordinator(GROUP, self._group)

    def _fence(self) -> Steps[None]:
        """What ``Admin.fenceProducers`` does: the open transaction is aborted, and its producer finds itself fenced."""
        if not self._transactional_ids:
            return
        name = self.random.choice(self._transactional_ids)
        yield from self.ask_coordinator(TRANSACTION, name, InitProducerIdRequest(name, 60_000), 4)
        self.forget_coordinator(TRANSACTION, name)
        self.history.count("producer fenced by an administrator")
