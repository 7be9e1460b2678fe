"""Where a share group begins each partition, and its lag (KIP-932, KIP-1226)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pykbroker.client.errors import raise_for
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)

if TYPE_CHECKING:
    from pykbroker.http.console.in_process_client import InProcessClient
    from pykbroker.http.turn import Turn

_UNKNOWN: Final = -1
_Offsets = dict[tuple[str, int], int]


async def described(brokers: InProcessClient, coordinator: int, name: str, turn: Turn) -> tuple[_Offsets, _Offsets]:
    """Return start offsets and lags, as far as they are known."""
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(name, None)])
    (found,) = (await brokers.ask(request, 1, coordinator)).groups
    raise_for(found.error_code, found.error_message)
    starts: _Offsets = {}
    lags: _Offsets = {}
    for topic in found.topics:
        async for each in turn.each(topic.partitions):
            if not each.error_code and each.start_offset != _UNKNOWN:
                partition = topic.topic_name, each.partition_index
                starts[partition] = each.start_offset
                if each.lag != _UNKNOWN:
                    lags[partition] = each.lag
    return starts, lags


async def altered(
    brokers: InProcessClient, coordinator: int, name: str, topic: str, offsets: Mapping[int, int]
) -> None:
    """Have a group without members begin there. Raises VerbRefused 409 if it has members."""
    partitions = [AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in offsets.items()]
    request = AlterShareGroupOffsetsRequest(name, [AlterShareGroupOffsetsRequestTopic(topic, partitions)])
    answer = await brokers.ask(request, 0, coordinator)
    if answer.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise VerbRefused(409, "the group has members: stop them first")
    raise_for(answer.error_code, answer.error_message)
    for each in answer.responses:
        for partition in each.partitions:
            raise_for(partition.error_code, partition.error_message)
