"""Groups of the newer protocols: consumer (KIP-848), share (KIP-932) and streams groups (KIP-1071).

Each has a member that never leaves. The share groups are described by Apache Kafka; pykbroker must carry them through its turns,
compaction included.
"""

from __future__ import annotations

from typing import Any

from compat_tests.directories.client import NOT_YET, Client
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, TaskIds, Topology

#: The names of these groups begin with it.
PREFIX = "new-"
_TOPIC = "codec-none"
_MEMBER = "uR7tYpZlQ4yXhQx3m1oF1g"
_LEAVE = -1
_GROUP_ID_NOT_FOUND = 69


class NewGroups:
    """One group of a kind more in each turn. Those of ``consumers`` and ``streams`` are part of what either broker shows."""

    def __init__(self) -> None:
        self.consumers: list[str] = []
        self.streams: list[str] = []
        self._shares: list[str] = []

    def join_consumer_group(self, client: Client) -> None:
        """A group whose member has committed an offset."""
        group = f"{PREFIX}consumer-{len(self.consumers)}"
        self.consumers.append(group)
        member = ConsumerGroupHeartbeatRequest(
            group, _MEMBER, rebalance_timeout_ms=60_000, subscribed_topic_names=[_TOPIC], topic_partitions=[]
        )
        _commit(client, group, joined(client, member, 1), 3 + len(self.consumers))

    def join_streams_group(self, client: Client) -> None:
        """A group whose member has tasks and has committed an offset."""
        group = f"{PREFIX}streams-{len(self.streams)}"
        self.streams.append(group)
        _commit(client, group, joined(client, _streams_member(group), 0), 3 + len(self.streams))

    def join_share_group(self, client: Client) -> None:
        """A share group with an offset that was set."""
        share = f"{PREFIX}share-{len(self._shares)}"
        self._shares.append(share)
        joined(client, ShareGroupHeartbeatRequest(share, _MEMBER, 0, None, [_TOPIC]), 1)
        _ask(client, ShareGroupHeartbeatRequest(share, _MEMBER, _LEAVE), 1)
        wanted = [AlterShareGroupOffsetsRequestPartition(0, 2 + len(self._shares))]
        request = AlterShareGroupOffsetsRequest(share, [AlterShareGroupOffsetsRequestTopic(_TOPIC, wanted)])
        altered = _ask(client, request, 0).responses[0].partitions[0]
        assert altered.error_code == 0, altered
        joined(client, ShareGroupHeartbeatRequest(share, _MEMBER, 0, None, [_TOPIC]), 1)

    def describe_share_groups(self, client: Client) -> list[Any]:
        """What Apache Kafka says of the share groups."""
        found = [described(client, ShareGroupDescribeRequest([group]), 1) for group in self._shares]
        for group in self._shares:
            asked = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)])
            topic = client.until(_offsets_known, asked, 1).groups[0].topics[0]
            found.append([(part.partition_index, part.start_offset) for part in topic.partitions])
        return found


def described(client: Client, request: Any, version: int) -> Any:
    """The one group that the request asks for."""
    client.coordinated(request.group_ids[0])
    (group,) = client.until(lambda found: found.groups[0].error_code not in NOT_YET, request, version).groups
    assert group.error_code == 0, group
    return group


def joined(client: Client, heartbeat: Any, version: int) -> int:
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
