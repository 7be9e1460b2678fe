"""Where a share group begins each partition, and how far it is behind (KIP-932, KIP-1226)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import TopicPartition, by_topic
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from pykbroker.client.client import Client

_UNKNOWN: Final = -1


class ShareOffset(NamedTuple):
    """The share partition's start offset, and the records from there on that are not delivered to the end; None if not known."""

    start: int
    lag: int | None


def share_offsets(client: Client, group: str) -> dict[TopicPartition, ShareOffset]:
    """The start offsets of all partitions of which the group has state. Raises the KafkaError of the response."""

    def ask() -> dict[TopicPartition, ShareOffset]:
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)])
        (answer,) = client.coordinator(group).call(request, DescribeShareGroupOffsetsResponse).groups
        raise_for(answer.error_code, answer.error_message)
        found = {}
        for topic in answer.topics:
            for each in topic.partitions:
                raise_for(each.error_code, each.error_message)
                if each.start_offset != _UNKNOWN:
                    lag = None if each.lag == _UNKNOWN else each.lag
                    found[TopicPartition(topic.topic_name, each.partition_index)] = ShareOffset(each.start_offset, lag)
        return found

    return client.retrying(ask)


def alter_share_offsets(client: Client, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Have a share group without members begin there. Raises the KafkaError of the response, as NON_EMPTY_GROUP."""
    if not offsets:
        return
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic, [AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in partitions]
        )
        for topic, partitions in by_topic(offsets.items())
    ]

    def alter() -> None:
        request = AlterShareGroupOffsetsRequest(group, topics)
        answer = client.coordinator(group).call(request, AlterShareGroupOffsetsResponse)
        raise_for(answer.error_code, answer.error_message)
        for topic in answer.responses:
            for each in topic.partitions:
                raise_for(each.error_code, each.error_message)

    client.retrying(alter)
