"""A cluster in memory and a group on it, whose requests go to its coordinator."""

from __future__ import annotations

from pykbroker.tests.kit.cluster import GROUP, MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

#: A ConsumerProtocolSubscription of version 0 to the topic "t", without user data.
SUBSCRIBED_TO_T = b"\0\0" + b"\0\0\0\x01" + b"\0\x01t" + b"\xff\xff\xff\xff"


class GroupCluster(MemoryCluster):
    """GROUP in short form: first its requests as a classic group, then those of the consumer protocol."""

    def asked_broker(self) -> int:
        return self.coordinator(GROUP)

    def join(self, member_id="", version=9, *, group=GROUP, broker=None, instance=None, session_ms=10_000):
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIBED_TO_T)],
        )
        return self.post(request, version, broker=broker)

    def member(self) -> str:
        """The only member of a stable group of generation 1."""
        member_id = self.join().value.member_id
        joining = self.join(member_id)
        self.advance(0)
        assert joining.value.generation_id == 1
        synced = self.ask(
            SyncGroupRequest(
                group_id=GROUP,
                generation_id=1,
                member_id=member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"all of it")],
            ),
            5,
        )
        assert synced.assignment == b"all of it"
        return member_id

    def heartbeat(self, member_id: str, generation: int = 1, **options) -> ErrorCode:
        request = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id=member_id)
        return ErrorCode(self.ask(request, 4, **options).error_code)

    def commit(self, offsets, *, version=8, generation=-1, member_id="", group=GROUP, topic_id=bytes(16), broker=None):
        """(topic, partition) to error code."""
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=topic_id,
                    partitions=[OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)],
                )
                for (topic, index), offset in offsets.items()
            ],
        )
        response = self.ask(request, version, broker=broker)
        return {
            (topic.name, partition.partition_index): ErrorCode(partition.error_code)
            for topic in response.topics
            for partition in topic.partitions
        }

    def enter(self, member_id: str = "one", *topics: str, **options) -> ConsumerGroupHeartbeatResponse:
        """The first heartbeat of a member of the consumer protocol."""
        request = ConsumerGroupHeartbeatRequest(
            GROUP,
            member_id,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=list(topics or ["t"]),
            topic_partitions=[],
        )
        return self.ask(request, 1, **options)

    def beat(
        self, member_id: str, epoch: int, owned: list[TopicPartitions] | None = None
    ) -> ConsumerGroupHeartbeatResponse:
        """A later one."""
        return self.ask(ConsumerGroupHeartbeatRequest(GROUP, member_id, epoch, topic_partitions=owned), 1)

    def described(self) -> DescribedGroup:
        """As ConsumerGroupDescribe shows it."""
        return self.ask(ConsumerGroupDescribeRequest([GROUP]), 1).groups[0]
