"""Members of a group and their assignments: classic groups, those of KIP-848, and share groups (KIP-932)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.wire.errors import ErrorCode, WireError
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.coordinator import decode_versioned
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest

if TYPE_CHECKING:
    from pykbroker.http.console.in_process_client import InProcessClient
    from pykbroker.http.turn import Turn
    from pykbroker.wire.messages.consumer_group_describe import DescribedGroup as ConsumerGroup
    from pykbroker.wire.messages.share_group_describe import DescribedGroup as DescribedShareGroup

SHARE: Final = "share"
_CONSUMER: Final = "consumer"
_MOST_LISTED: Final = 200
#: Bytes of an assignment that is decoded at once.
_DECODED_HERE: Final = 4096


@dataclass(frozen=True, slots=True)
class ConsoleMember:
    """A member with its assigned partitions."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: list[tuple[str, int]]

    def as_json(self) -> dict[str, Any]:
        """Return the member as JSON, with as many of its partitions as a page shows."""
        return {
            "member": self.member_id,
            "instance": self.instance_id,
            "client": self.client_id,
            "host": self.host.removeprefix("/"),
            "assigned": len(self.partitions),
            "partitions": [f"{topic}-{index}" for topic, index in self.partitions[:_MOST_LISTED]],
        }


@dataclass(frozen=True, slots=True)
class ConsoleGroup:
    """A group as its coordinator describes it."""

    kind: str
    state: str
    assignor: str
    members: list[ConsoleMember] = field(default_factory=list)


async def members_of(brokers: InProcessClient, coordinator: int, name: str, turn: Turn) -> ConsoleGroup:
    """Describe a group. A group that does not exist is Dead and has no members, as before KIP-1043."""
    (found,) = (await brokers.ask(ConsumerGroupDescribeRequest([name]), 1, coordinator)).groups
    if found.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        raise_for(found.error_code, found.error_message)
        return await _assigned_by_broker("consumer", found, turn)
    (shared,) = (await brokers.ask(ShareGroupDescribeRequest([name]), 1, coordinator)).groups
    if shared.error_code != ErrorCode.NONE:  # it is none, or they are not served
        return await _classic(brokers, coordinator, name, turn)
    return await _assigned_by_broker(SHARE, shared, turn)


async def _assigned_by_broker(kind: str, found: ConsumerGroup | DescribedShareGroup, turn: Turn) -> ConsoleGroup:
    described: Sequence[Any] = found.members
    members = [
        ConsoleMember(
            *(member.member_id, getattr(member, "instance_id", None), member.client_id, member.client_host),
            sorted([
                (of.topic_name, index)
                for of in member.assignment.topic_partitions
                async for index in turn.each(of.partitions)
            ]),
        )
        async for member in turn.each(described)
    ]  # fmt: skip
    return ConsoleGroup(kind, found.group_state, found.assignor_name, members)


async def _classic(brokers: InProcessClient, coordinator: int, name: str, turn: Turn) -> ConsoleGroup:
    (found,) = (await brokers.ask(DescribeGroupsRequest([name]), 6, coordinator)).groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return ConsoleGroup("classic", "Dead", "")
    raise_for(found.error_code, found.error_message)
    members = [
        ConsoleMember(
            *(member.member_id, member.group_instance_id, member.client_id, member.client_host),
            await _assigned(member.member_assignment) if found.protocol_type == _CONSUMER else [],
        )
        async for member in turn.each(found.members)
    ]
    return ConsoleGroup("classic", found.group_state, found.protocol_data, members)


async def _assigned(data: bytes) -> list[tuple[str, int]]:
    """Return the assigned partitions; none if a client wrote a format of its own. The group's leader says how many there are."""
    if len(data) <= _DECODED_HERE:
        return _decoded(data)
    return await asyncio.to_thread(_decoded, data)


def _decoded(data: bytes) -> list[tuple[str, int]]:
    try:
        assignment = decode_versioned(ConsumerProtocolAssignment, data)
    except WireError:
        return []
    return sorted((of.topic, index) for of in assignment.assigned_partitions for index in of.partitions)
