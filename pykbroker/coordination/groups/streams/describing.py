"""A streams group as StreamsGroupDescribe shows it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from operator import attrgetter

from pykbroker.coordination.groups.streams.group import NO_OFFSETS, StreamsGroup, TaskOffsets
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.tasks import Task, TaskTuple, by_subtopology
from pykbroker.coordination.groups.streams.topology import Topology as RecordedTopology
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

#: The weights of a subtopology, of a task of a member, and of an offset (``runtime/slices.py``).
_OF_A_SUBTOPOLOGY = 0.3
_OF_A_TASK = 0.1
_OF_AN_OFFSET = 0.05


def described(group: StreamsGroup) -> Generator[float, None, DescribedGroup]:
    """The group with all its members as it is now: what the steps look at later is never changed, but replaced."""
    head = DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.facts.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.settings.assignor,
    )
    members = [
        (member, group.offsets.get(member.member_id, NO_OFFSETS), group.target_of(member.member_id))
        for member in group.members.values()
    ]
    configured = group.configured
    partitions = configured.partitions if configured is not None and configured.is_ready else {}
    return _completed(head, group.topology, partitions, members)


def _completed(
    group: DescribedGroup,
    topology: RecordedTopology | None,
    partitions: Mapping[str, int],
    members: list[tuple[StreamsMember, TaskOffsets, TaskTuple]],
) -> Generator[float, None, DescribedGroup]:
    """Internal topics are shown with the partitions that they have, as soon as all topics are there."""
    if topology is not None:
        subtopologies: list[Subtopology] = []
        group.topology = Topology(epoch=topology.epoch, subtopologies=subtopologies)
        for each in sorted(topology.subtopologies, key=attrgetter("subtopology_id")):
            shown = Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                state_changelog_topics=_topics(each.state_changelog_topics, partitions),
                repartition_source_topics=_topics(each.repartition_source_topics, partitions),
            )
            subtopologies.append(shown)
            yield _OF_A_SUBTOPOLOGY * (1 + len(shown.state_changelog_topics) + len(shown.repartition_source_topics))
    for member, offsets, target in members:
        group.members.append(_member(member, offsets, target))
        tasks = sum(map(len, (*member.assigned, *target)))
        yield 1 + _OF_A_TASK * tasks + _OF_AN_OFFSET * sum(map(len, offsets))
    return group


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


def _member(member: StreamsMember, reported: TaskOffsets, target: TaskTuple) -> Member:
    offsets, ends = reported
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
        target_assignment=_assignment(*target),
    )


def _assignment(active: Iterable[Task], standby: Iterable[Task], warmup: Iterable[Task]) -> Assignment:
    return Assignment(_ids(active), _ids(standby), _ids(warmup))


def _ids(tasks: Iterable[Task]) -> list[TaskIds]:
    return [TaskIds(*each) for each in by_subtopology(tasks)]


def _offsets(offsets: Mapping[Task, int]) -> list[TaskOffset]:
    return [TaskOffset(*task, offset) for task, offset in sorted(offsets.items())]
