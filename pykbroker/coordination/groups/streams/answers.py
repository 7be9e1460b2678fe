"""What StreamsGroupHeartbeat answers: tasks, status codes, and the endpoints of the application's instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pykbroker.coordination.groups.streams.configuring import ConfiguredTopology, StreamsStatus
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.tasks import Task, by_subtopology
from pykbroker.coordination.groups.streams.topology import Topology, sources
from pykbroker.metadata.image import MetadataImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.streams_group_heartbeat import (
    Endpoint,
    EndpointToPartitions,
    Status,
    TaskIds,
    TopicPartition,
)

_TAGS = "rack.aware.assignment.tags"
_TAGS_SINCE = 1


def task_ids(tasks: Iterable[Task]) -> list[TaskIds]:
    """Tasks as the answer has them."""
    return [TaskIds(*each) for each in by_subtopology(tasks)]


def status(code: StreamsStatus, detail: str) -> Status:
    return Status(int(code), detail)


def stale_topology(group: StreamsGroup, member: StreamsMember) -> Iterator[Status]:
    """A member with an earlier topology than the group's."""
    if group.topology is not None and member.topology_epoch < group.topology.epoch:
        yield status(
            StreamsStatus.STALE_TOPOLOGY,
            f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
            f"{group.topology.epoch}.",
        )


def topic_fault(configured: ConfiguredTopology) -> Iterator[Status]:
    """Topics that prevent an assignment."""
    if configured.fault is not None:
        yield status(configured.fault.status, str(configured.fault))


def shutdown(requested_by: str | None) -> Iterator[Status]:
    """A member has asked the whole application to end."""
    if requested_by is not None:
        yield status(
            StreamsStatus.SHUTDOWN_APPLICATION,
            f"Streams group member {requested_by} encountered a fatal error and requested a shutdown for the entire "
            "application.",
        )


def missing_tags(member: StreamsMember, configs: dict[str, str], version: int) -> Iterator[Status]:
    """A member without client tags that the group's assignment is configured with."""
    wanted = configs[_TAGS].split(",") if _TAGS in configs and version >= _TAGS_SINCE else []
    missing = [each for each in map(str.strip, wanted) if each not in member.client_tags]
    if missing:
        yield status(
            StreamsStatus.MISSING_CLIENT_TAGS,
            f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]. Configure them via "
            "'client.tag.<tagKey>' in your Streams config.",
        )


def endpoint_partitions(
    members: Iterable[StreamsMember], configured: ConfiguredTopology, image: MetadataImage
) -> list[EndpointToPartitions]:
    """The input partitions that the instances with an endpoint have, for interactive queries. Raises KafkaError
    UNKNOWN_SERVER_ERROR, as Kafka, for topics that do not allow any task, or are gone.
    """
    found: list[EndpointToPartitions] = []
    for member in members:
        if member.user_endpoint is None:
            continue
        if configured.tasks is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        owned = member.assigned
        found.append(
            EndpointToPartitions(
                Endpoint(*member.user_endpoint),
                _inputs(owned.active, configured.topology, image),
                _inputs(owned.standby | owned.warmup, configured.topology, image),
            )
        )
    return found


def _inputs(tasks: Iterable[Task], topology: Topology, image: MetadataImage) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    for subtopology_id, partitions in by_subtopology(tasks):
        read = topology.subtopology(subtopology_id)
        for name in [] if read is None else sorted(set(sources(read))):
            topic = image.topic(name)
            if topic is None:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            there = [each for each in partitions if each < len(topic.partitions)]
            if there:
                found.append(TopicPartition(name, there))
    return found
