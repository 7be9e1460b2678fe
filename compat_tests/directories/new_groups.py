"""Groups of the newer protocols: consumer (KIP-848), share (KIP-932) and streams groups (KIP-1071).

Apache Kafka makes them, each with a member that never leaves. pykbroker does not serve all of them; what it does not
understand in the coordinators' topics it must carry through its turns, compaction included.
"""

from __future__ import annotations

from typing import Any

from compat_tests.directories.client import NOT_YET, Client
from wire.message import Message
from wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from wire.messages.share_group_describe import ShareGroupDescribeRequest
from wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, TaskIds, Topology

#: The names of these groups begin with it.
PREFIX = "new-"
_TOPIC = "codec-none"
_MEMBER = "uR7tYpZlQ4yXhQx3m1oF1g"
_LEAVE = -1
_GROUP_ID_NOT_FOUND = 69


class NewGroups:
    """``turn`` in each turn of Apache Kafka; ``describe`` at its end, and again where its next one begins."""

    def __init__(self) -> None:
        self._turn = 0

    def turn(self, client: Client) -> None:
        """One group of each kind more; the consumer group commits an offset, the share group has one that was set."""
        self._turn += 1
        consumer, share, streams = self._names(self._turn)
        member = ConsumerGroupHeartbeatRequest(
            consumer, _MEMBER, rebalance_timeout_ms=60_000, subscribed_topic_names=[_TOPIC], topic_partitions=[]
        )
        epoch = _joined(client, member, 1)
        _commit(client, consumer, epoch, 3 + self._turn)
        _joined(client, ShareGroupHeartbeatRequest(share, _MEMBER, 0, None, [_TOPIC]), 1)
        _ask(client, ShareGroupHeartbeatRequest(share, _MEMBER, _LEAVE), 1)
        wanted = [AlterShareGroupOffsetsRequestPartition(0, 2 + self._turn)]
        request = AlterShareGroupOffsetsRequest(share, [AlterShareGroupOffsetsRequestTopic(_TOPIC, wanted)])
        altered = _ask(client, request, 0).responses[0].partitions[0]
        assert altered.error_code == 0, altered
        _joined(client, ShareGroupHeartbeatRequest(share, _MEMBER, 0, None, [_TOPIC]), 1)
        _joined(client, _streams_member(streams), 0)

    def describe(self, client: Client) -> list[Any]:
        """What Apache Kafka says of all these groups."""
        found: list[Any] = []
        for turn in range(1, self._turn + 1):
            consumer, share, streams = self._names(turn)
            for group, request, version in (
                (consumer, ConsumerGroupDescribeRequest([consumer]), 1),
                (share, ShareGroupDescribeRequest([share]), 1),
                (streams, StreamsGroupDescribeRequest([streams]), 0),
            ):
                client.coordinated(group)
                answer = client.until(lambda found: found.groups[0].error_code not in NOT_YET, request, version)
                assert answer.groups[0].error_code == 0, answer
                found.append(answer.groups)
            asked = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(share, None)])
            offsets = client.until(_offsets_known, asked, 1)
            found.append(
                [(p.partition_index, p.start_offset, p.error_code) for p in offsets.groups[0].topics[0].partitions]
            )
        return found

    def committed(self) -> list[str]:
        """The groups that have committed offsets, which either broker can fetch."""
        return [self._names(turn)[0] for turn in range(1, self._turn + 1)]

    def _names(self, turn: int) -> tuple[str, str, str]:
        return f"{PREFIX}consumer-{turn}", f"{PREFIX}share-{turn}", f"{PREFIX}streams-{turn}"


def _joined(client: Client, heartbeat: Any, version: int) -> int:
    """Joins and beats until the member has something assigned; its epoch."""
    client.coordinated(heartbeat.group_id)

    def assigned(answer: Any) -> bool:
        assert answer.error_code in (0, *NOT_YET), answer
        heartbeat.member_epoch = answer.member_epoch
        if isinstance(heartbeat, StreamsGroupHeartbeatRequest) and answer.error_code == 0:
            heartbeat.topology = None  # is told once
        tasks = getattr(answer, "active_tasks", None)
        partitions = getattr(getattr(answer, "assignment", None), "topic_partitions", None)
        return answer.error_code == 0 and bool(tasks or partitions)

    return int(client.until(assigned, heartbeat, version).member_epoch)


def _ask(client: Client, request: Message, version: int) -> Any:
    answer = client.until(lambda found: found.error_code not in NOT_YET, request, version)
    assert answer.error_code == 0, answer
    return answer


def _commit(client: Client, group: str, epoch: int, offset: int) -> None:
    parts = [OffsetCommitRequestPartition(0, offset, 0, "by its member")]
    request = OffsetCommitRequest(group, epoch, _MEMBER, topics=[OffsetCommitRequestTopic(_TOPIC, partitions=parts)])
    answer = client.ask(request, 9).topics[0].partitions[0]
    assert answer.error_code == 0, answer


def _streams_member(group: str) -> StreamsGroupHeartbeatRequest:
    topology = Topology(1, [Subtopology("0", [_TOPIC])])
    none: list[TaskIds] = []
    return StreamsGroupHeartbeatRequest(
        group, _MEMBER, 0, 0, None, None, 60_000, topology, none, none, none, "process", client_tags=[]
    )


def _offsets_known(answer: Any) -> bool:
    (group,) = answer.groups
    assert group.error_code != _GROUP_ID_NOT_FOUND, answer
    return group.error_code == 0 and all(part.error_code == 0 for topic in group.topics for part in topic.partitions)
