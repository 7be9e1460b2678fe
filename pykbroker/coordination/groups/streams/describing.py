"""A streams group as StreamsGroupDescribe shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pykbroker.coordination.groups.streams.group import NO_OFFSETS, StreamsGroup
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.tasks import Task, by_subtopology
from pykbroker.wire.internal.streams_group_topology import TopicInfo as RecordedTopic
from pykbroker.wire.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)


def described(group: StreamsGroup) -> DescribedGroup:
    """The group with all its members."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.facts.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.settings.assignor,
        topology=_topology(group),
        members=[_member(group, member) for member in group.members.values()],
    )


def _topology(group: StreamsGroup) -> Topology | None:
    """Internal topics are shown with the partitions that they have, as soon as all topics are there."""
    if group.topology is None:
        return None
    configured = group.configured
    partitions = configured.partitions if configured is not None and configured.is_ready else {}
    return Topology(
        epoch=group.topology.epoch,
        subtopologies=[
            Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                state_changelog_topics=_topics(each.state_changelog_topics, partitions),
                repartition_source_topics=_topics(each.repartition_source_topics, partitions),
            )
            for each in sorted(group.topology.subtopologies, key=lambda each: each.subtopology_id)
        ],
    )


def _topics(topics: Iterable[RecordedTopic], partitions: Mapping[str, int]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=each.name,
            partitions=partitions.get(each.name, each.partitions),
            replication_factor=each.replication_factor,
            topic_configs=[KeyValue(config.key, config.value) for config in each.topic_configs],
        )
        for each in sorted(topics, key=lambda topic: topic.name)
    ]


def _member(group: StreamsGroup, member: StreamsMember) -> Member:
    offsets, ends = group.offsets.get(member.member_id, NO_OFFSETS)
    return Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if member.user_endpoint is None else Endpoint(*member.user_endpoint),
        client_tags=[KeyValue(*each) for each in member.client_tags.items()],
        task_offsets=_offsets(offsets),
        task_end_offsets=_offsets(ends),
        assignment=_assignment(*member.assigned),
        target_assignment=_assignment(*group.target_of(member.member_id)),
    )


def _assignment(active: Iterable[Task], standby: Iterable[Task], warmup: Iterable[Task]) -> Assignment:
    return Assignment(_ids(active), _ids(standby), _ids(warmup))


def _ids(tasks: Iterable[Task]) -> list[TaskIds]:
    return [TaskIds(*each) for each in by_subtopology(tasks)]


def _offsets(offsets: Mapping[Task, int]) -> list[TaskOffset]:
    return [TaskOffset(*task, offset) for task, offset in sorted(offsets.items())]
