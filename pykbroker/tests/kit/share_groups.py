"""A cluster in memory with members of a share group, whose requests go to its coordinator and to the leader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.share.state import SharePartitionKey, ShareState
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pykbroker.wire.messages.share_fetch import AcknowledgementBatch as FetchBatch
from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.records import Record, encode_batch

SHARE_GROUP = "work"


class ShareCluster(MemoryCluster):
    """Brokers with the topic ``t``, which the share group reads from its beginning."""

    def __init__(
        self,
        brokers: int = 1,
        *,
        partitions: int = 1,
        replicas: int = 1,
        own_stores: bool = False,
        **settings: str,
    ) -> None:
        super().__init__(brokers, own_stores=own_stores, **settings)
        self.topic_id = self.create(NewTopic("t", partitions, replicas))
        self.configure("share.auto.offset.reset", "earliest")

    def configure(self, name: str, value: str) -> None:
        """Set a setting of the group."""
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=SHARE_GROUP, configs=[config])
        answer = self.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert [each.error_code for each in answer.responses] == [0]

    def produce(self, count: int, index: int = 0, keys: Sequence[bytes] | None = None) -> None:
        """Append one batch of so many records; ``keys`` are used in turn."""
        now = self.clock.now_ms()
        records = [
            Record(offset=n, timestamp=now, key=keys[n % len(keys)] if keys else None, value=b"%d" % n, headers=[])
            for n in range(count)
        ]
        self.partition("t", index).append_at_once(memoryview(bytearray(encode_batch(records))))

    def heartbeat(self, member: str, epoch: int, topics: list[str] | None = None):
        request = ShareGroupHeartbeatRequest(
            group_id=SHARE_GROUP, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
        )
        return self.ask(request, 1, broker=self.coordinator(SHARE_GROUP))

    def joined(self, member: str = "m"):
        """The heartbeat with which a member has its partitions."""
        answer = self.heartbeat(member, 0, ["t"])
        assert answer.error_code == 0, answer
        for _ in range(20):
            self.advance(1000)
            self.settle()
            answer = self.heartbeat(member, answer.member_epoch, ["t"])
            assert answer.error_code == 0, answer
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return answer
        raise AssertionError("never assigned")


class Lost:
    """The way to the share coordinator: of the writes after the first ones nothing arrives, and nothing is answered."""

    def __init__(self, states: Any, arriving: int) -> None:
        self._states = states
        self._arriving = arriving
        self.read = states.read

    def write(self, key: SharePartitionKey, change: ShareState) -> Deferred[None]:
        self._arriving -= 1
        return self._states.write(key, change) if self._arriving >= 0 else Deferred()


def lose_writes(world: ShareCluster, arriving: int) -> None:
    """What leaders write from now on does not arrive, but for the first writes of each share partition."""
    for broker in world.cluster.brokers.values():
        for led in broker.share_partitions.led_of(SHARE_GROUP):
            led._states = Lost(led._states, arriving)


class ShareMember:
    """A member as the leader of ``t``'s partitions sees it: its session."""

    def __init__(self, world: ShareCluster, name: str = "m", partitions: int = 1, version: int = 2) -> None:
        self.world = world
        self.name = name
        self.partitions = partitions
        self.version = version
        self.epoch = 0
        self.peer = Peer()

    def post_fetch(self, acknowledged: dict[int, list[tuple[int, int, list[int]]]] | None = None, **fields):
        """The wait for the answer of a ShareFetch, with acknowledgements by partition."""
        said = acknowledged or {}
        named = range(self.partitions) if self.epoch == 0 else sorted(said)
        topic = FetchTopic(
            self.world.topic_id,
            [FetchPartition(index, 0, [FetchBatch(*each) for each in said.get(index, [])]) for index in named],
        )
        request = ShareFetchRequest(
            group_id="work",
            member_id=self.name,
            share_session_epoch=self.epoch,
            max_wait_ms=fields.pop("max_wait_ms", 0),
            max_bytes=fields.pop("max_bytes", 1 << 20),
            max_records=fields.pop("max_records", 500),
            batch_size=fields.pop("batch_size", 500),
            topics=[topic] if named else [],
            **fields,
        )
        self.epoch += 1
        return self.world.post(request, self.version, peer=self.peer)

    def fetch(self, acknowledged=None, **fields):
        """The answer of a ShareFetch; time passes until there is one."""
        waiting = self.post_fetch(acknowledged, **fields)
        for _ in range(60):
            self.world.settle()
            if waiting.done:
                return waiting.value
            self.world.advance(20)
        raise AssertionError("no answer")

    def acquired(self, **fields) -> list[tuple[int, int, int]]:
        """What a ShareFetch acquires: first offset, last offset and delivery count."""
        answer = self.fetch(max_wait_ms=500, **fields)
        assert answer.error_code == 0, answer
        found = []
        for topic in answer.responses:
            for data in topic.partitions:
                assert data.error_code == 0, data
                found += [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]
        return found

    def post_acknowledge(
        self, first: int, last: int, *types: Acknowledge, index: int = 0, epoch: int | None = None
    ) -> Deferred[Any]:
        """The wait for the answer of a ShareAcknowledge."""
        batch = AcknowledgementBatch(first, last, list(types))
        request = ShareAcknowledgeRequest(
            group_id="work",
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[AcknowledgeTopic(self.world.topic_id, [AcknowledgePartition(index, [batch])])],
        )
        self.epoch += 1
        return self.world.post(request, self.version, peer=self.peer)

    def acknowledge(self, first: int, last: int, *types: Acknowledge, index: int = 0, epoch: int | None = None):
        """The answer of a ShareAcknowledge: the error code of the request, or of the partition."""
        waiting = self.post_acknowledge(first, last, *types, index=index, epoch=epoch)
        for _ in range(60):
            self.world.settle()
            if waiting.done:
                answer = waiting.value
                return answer.error_code or answer.responses[0].partitions[0].error_code
            self.world.advance(20)
        raise AssertionError("no answer")

    def close(self):
        """The answer of the last ShareFetch."""
        self.epoch = -1
        return self.fetch()
