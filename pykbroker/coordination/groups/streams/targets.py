"""The target assignment of a streams group, computed when the group epoch has risen, no more often than the interval allows; that of a
large group in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.assigning import MANY, Assigning, target_records
from pykbroker.coordination.groups.streams.group import NO_OFFSETS, StreamsGroup, TaskOffsets
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.records import (
    EncodedTasks,
    has_many_tasks,
    target_epoch_record,
    target_record,
)
from pykbroker.coordination.groups.streams.tasks import NO_TARGET, TaskTuple
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.metadata.java_maps import hash_of_text, in_map_order

if TYPE_CHECKING:
    from pykbroker.coordination.groups.streams.configuring import ConfiguredTopology

_STANDBYS = "num.standby.replicas"


def assign(
    group: StreamsGroup,
    epoch: int,
    members: Mapping[str, StreamsMember],
    configured: ConfiguredTopology,
    configs: Mapping[str, str],
    offsets: Mapping[str, TaskOffsets],
    former: StreamsMember | None = None,
) -> tuple[list[CoordinatorRecord], dict[str, TaskTuple]] | Assigning:
    """The records of a new target for these members, and the target of each: nothing as long as topics are missing; or what is to be
    computed in a thread. One may replace the static member ``former``, whose target is recorded as its already.
    """
    from pykbroker.coordination.groups.streams.sticky import TaskGroupSpec, TaskMemberSpec, assign_sticky

    given = dict.fromkeys(members, NO_TARGET)
    if configured.is_ready and configured.tasks is not None:
        stateful = {each.subtopology_id for each in configured.topology.subtopologies if each.state_changelog_topics}
        specs = {
            member_id: TaskMemberSpec(
                member.process_id,
                frozenset(member.assigned.active),
                member.assigned.standby,
                offsets.get(member_id, NO_OFFSETS)[0],
            )
            for member_id, member in members.items()
        }
        spec = TaskGroupSpec(specs, configured.tasks, frozenset(stateful), int(configs[_STANDBYS]))
        if len(members) + sum(configured.tasks.values()) > MANY:
            encoded: dict[str, EncodedTasks] = {}

            def compute() -> dict[str, TaskTuple]:
                found = assign_sticky(spec)
                encoded.update((each, EncodedTasks(tasks)) for each, tasks in found.items() if has_many_tasks(tasks))
                return found

            return Assigning(StreamsGroup, group.group_id, epoch, compute, partial(_records, encoded=encoded))
        given = assign_sticky(spec)
    known: Mapping[str, TaskTuple] = group.targets
    if former is not None:
        replacing = next(each for each in members.values() if each.instance_id == former.instance_id)
        known = {**known, replacing.member_id: group.target_of(former.member_id)}
    return _records(group, epoch, given, known), given


def _records(
    group: StreamsGroup,
    epoch: int,
    given: Mapping[str, TaskTuple],
    known: Mapping[str, TaskTuple] | None = None,
    encoded: Mapping[str, EncodedTasks] | None = None,
) -> list[CoordinatorRecord]:
    """``target_records`` in the order of Kafka's map."""

    def of_member(group_id: str, member_id: str, target: TaskTuple) -> CoordinatorRecord:
        return target_record(group_id, member_id, target, None if encoded is None else encoded.get(member_id))

    in_order = {member_id: given[member_id] for member_id in in_map_order(given, hash_of_text, at_least=16)}
    return target_records(of_member, target_epoch_record, group, epoch, in_order, known)
