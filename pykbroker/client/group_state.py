"""The state of a group as its coordinator describes it: classic, consumer (KIP-848), share (KIP-932) and streams groups (KIP-1071)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pykbroker.client.client import Client
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, raise_for
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.coordinator import decode_versioned
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from pykbroker.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from pykbroker.wire.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    TaskIds,
    Topology,
)

CLASSIC = "Classic"
SHARE = "Share"
_CONSUMER = "Consumer"
STREAMS = "Streams"
_CONSUMER_PROTOCOL = "consumer"


@dataclass
class MemberDescription:
    """A member and its assigned partitions."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: list[TopicPartition]


@dataclass
class GroupDescription:
    """A group as its coordinator describes it. ``coordinator`` is host:port."""

    name: str
    kind: str
    state: str
    assignor: str
    coordinator: str
    members: list[MemberDescription] = field(default_factory=list)

    def owners(self) -> dict[TopicPartition, str]:
        """Return the member that each assigned partition belongs to; those of a share group have several."""
        found: dict[TopicPartition, list[str]] = {}
        for member in self.members:
            for partition in member.assigned:
                found.setdefault(partition, []).append(member.member_id)
        return {partition: ", ".join(members) for partition, members in found.items()}


def find_groups(connection: BrokerConnection) -> list[ListedGroup]:
    """List the groups that this broker coordinates. Raises the KafkaError of the response."""
    answer = connection.call(ListGroupsRequest(), ListGroupsResponse)
    raise_for(answer.error_code)
    return answer.groups


def kind_of(group: ListedGroup) -> str:
    """Return the group's type as Kafka's tools spell it; spelling differs between brokers, and old ones omit it."""
    return (group.group_type or CLASSIC).capitalize()


def read_group(client: Client, name: str) -> GroupDescription:
    """Describe the group ``name``. Raises KafkaError GROUP_ID_NOT_FOUND."""
    connection = client.coordinator(name)
    listed = next((group for group in find_groups(connection) if group.group_id == name), None)
    if listed is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    kind = kind_of(listed)
    if kind == _CONSUMER:
        return _read_consumer(connection, name)
    if kind == CLASSIC:
        return _read_classic(connection, name)
    if kind == SHARE:
        return _read_share(connection, name)
    if kind == STREAMS:
        return _read_streams(client, connection, name)
    raise ClientError(f"Group {name} is of the type {kind}, which this command does not know.")


def _read_classic(connection: BrokerConnection, name: str) -> GroupDescription:
    (found,) = connection.call(DescribeGroupsRequest(groups=[name]), DescribeGroupsResponse).groups
    raise_for(found.error_code, found.error_message)
    consumers = found.protocol_type == _CONSUMER_PROTOCOL
    members = [
        MemberDescription(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host.removeprefix("/"),
            _classic_assignment(m.member_assignment) if consumers else [],
        )
        for m in found.members
    ]
    return GroupDescription(name, CLASSIC, found.group_state, found.protocol_data, connection.address, members)


def _classic_assignment(data: bytes) -> list[TopicPartition]:
    """Return the partitions in an assignment; none if a client wrote a format of its own."""
    try:
        assignment = decode_versioned(ConsumerProtocolAssignment, data)
    except WireError:
        return []
    return sorted(TopicPartition(t.topic, index) for t in assignment.assigned_partitions for index in t.partitions)


def _member(found: Any, instance_id: str | None, partitions: Iterable[TopicPartition]) -> MemberDescription:
    """A member as the descriptions of all kinds but the classic one have it."""
    host = found.client_host.removeprefix("/")
    return MemberDescription(found.member_id, instance_id, found.client_id, host, sorted(partitions))


def _partitions(assignment: Any) -> Iterator[TopicPartition]:
    return (TopicPartition(t.topic_name, index) for t in assignment.topic_partitions for index in t.partitions)


def _read_consumer(connection: BrokerConnection, name: str) -> GroupDescription:
    request = ConsumerGroupDescribeRequest(group_ids=[name])
    (found,) = connection.call(request, ConsumerGroupDescribeResponse).groups
    raise_for(found.error_code, found.error_message)
    members = [_member(m, m.instance_id, _partitions(m.assignment)) for m in found.members]
    return GroupDescription(name, _CONSUMER, found.group_state, found.assignor_name, connection.address, members)


def _read_share(connection: BrokerConnection, name: str) -> GroupDescription:
    request = ShareGroupDescribeRequest(group_ids=[name])
    (found,) = connection.call(request, ShareGroupDescribeResponse).groups
    raise_for(found.error_code, found.error_message)
    members = [_member(m, None, _partitions(m.assignment)) for m in found.members]
    return GroupDescription(name, SHARE, found.group_state, found.assignor_name, connection.address, members)


def _read_streams(client: Client, connection: BrokerConnection, name: str) -> GroupDescription:
    request = StreamsGroupDescribeRequest(group_ids=[name])
    (found,) = connection.call(request, StreamsGroupDescribeResponse).groups
    raise_for(found.error_code, found.error_message)
    read = _read_by(client, found.topology)
    members = [_member(m, m.instance_id, _inputs(m.assignment.active_tasks, read)) for m in found.members]
    return GroupDescription(name, STREAMS, found.group_state, found.assignor_name or "", connection.address, members)


def _read_by(client: Client, topology: Topology | None) -> dict[str, dict[str, int]]:
    """The topics that each subtopology reads, with their partitions."""
    subtopologies = [] if topology is None else topology.subtopologies or []
    read = {
        each.subtopology_id: [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)]
        for each in subtopologies
    }
    names = sorted({name for names in read.values() for name in names})
    counts = {topic.name or "": len(topic.partitions) for topic in client.metadata(names).topics} if names else {}
    return {subtopology: {name: counts.get(name, 0) for name in names} for subtopology, names in read.items()}


def _inputs(tasks: list[TaskIds], read: dict[str, dict[str, int]]) -> Iterator[TopicPartition]:
    """The partitions that active tasks read."""
    for each in tasks:
        for topic, count in read.get(each.subtopology_id, {}).items():
            yield from (TopicPartition(topic, index) for index in each.partitions if index < count)
