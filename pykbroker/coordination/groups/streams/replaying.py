"""Records of streams groups back into groups: the only place where their persisted state changes.

Kinder than Kafka, which refuses to load a partition where a tombstone comes before those that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pykbroker.coordination.groups.member_group import LEAVING
from pykbroker.coordination.groups.streams.group import GroupFacts, StreamsGroup
from pykbroker.coordination.groups.streams.member import StreamsMember, state_of
from pykbroker.coordination.groups.streams.records import EncodedTasks
from pykbroker.coordination.groups.streams.tasks import OWNS_NOTHING, OwnedTasks, Task, TaskTuple, tasks_of
from pykbroker.coordination.groups.streams.topology import LargeValue, Topology
from pykbroker.wire.internal.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentKey,
    TaskIds,
)
from pykbroker.wire.internal.streams_group_member_metadata import StreamsGroupMemberMetadataKey
from pykbroker.wire.internal.streams_group_metadata import StreamsGroupMetadataKey
from pykbroker.wire.internal.streams_group_target_assignment_member import StreamsGroupTargetAssignmentMemberKey
from pykbroker.wire.internal.streams_group_target_assignment_metadata import StreamsGroupTargetAssignmentMetadataKey
from pykbroker.wire.internal.streams_group_topology import StreamsGroupTopologyKey


def replay(group: StreamsGroup, key: Any, value: Any) -> None:
    """Take a record of the group into its state; ``value`` is None for a tombstone. The group's own end is the kind's."""
    _REPLAYED[type(key)](group, key, value)


def ends_group(key: Any, value: Any) -> bool:
    """Whether a record is the tombstone of a whole group."""
    return value is None and isinstance(key, StreamsGroupMetadataKey)


def _epoch(group: StreamsGroup, _key: Any, value: Any) -> None:
    group.facts = GroupFacts(
        epoch=value.epoch,
        metadata_hash=value.metadata_hash,
        validated_epoch=value.validated_topology_epoch,
        assignment_configs={each.key: each.value for each in value.last_assignment_configs or ()},
        stored_description_epoch=value.stored_description_topology_epoch,
        failed_description_epoch=value.failed_description_topology_epoch,
    )


def _topology(group: StreamsGroup, _key: Any, value: Any) -> None:
    if isinstance(value, LargeValue):  # this process has just written it
        group.topology = value.topology
        value.topology.encoded = None
    else:
        group.topology = None if value is None else Topology(value)
    group.configured = None


def _member(group: StreamsGroup, key: Any, value: Any) -> None:
    if value is None:
        group.remove(key.member_id)
        return
    endpoint = value.user_endpoint
    group.put(
        replace(
            group.members.get(key.member_id) or StreamsMember(key.member_id),
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            user_endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
            client_tags={each.key: each.value for each in value.client_tags},
        )
    )


def _target_epoch(group: StreamsGroup, _key: Any, value: Any) -> None:
    group.target_epoch = -1 if value is None else value.assignment_epoch
    group.target_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target(group: StreamsGroup, key: Any, value: Any) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    elif isinstance(value, EncodedTasks):  # this process has just written it
        group.targets[key.member_id] = value.of
    else:
        group.targets[key.member_id] = TaskTuple(
            tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
        )


def _assignment(group: StreamsGroup, key: Any, value: Any) -> None:
    known = group.members.get(key.member_id)
    if value is None:
        if known is not None:
            group.put(
                replace(known, epoch=LEAVING, previous_epoch=LEAVING, assigned=OWNS_NOTHING, revoking=OWNS_NOTHING)
            )
        return
    if isinstance(value, EncodedTasks):  # this process has just written it
        new = value.of
        group.put(
            replace(
                known or StreamsMember(key.member_id),
                epoch=new.epoch,
                previous_epoch=new.previous_epoch,
                state=new.state,
                assigned=new.assigned,
                revoking=new.revoking,
            )
        )
        return
    epoch = value.member_epoch
    group.put(
        replace(
            known or StreamsMember(key.member_id),
            epoch=epoch,
            previous_epoch=value.previous_member_epoch,
            state=state_of(value.state),
            assigned=OwnedTasks(
                _with_epochs(value.active_tasks, epoch), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
            ),
            revoking=OwnedTasks(
                _with_epochs(value.active_tasks_pending_revocation, epoch),
                tasks_of(value.standby_tasks_pending_revocation),
                tasks_of(value.warmup_tasks_pending_revocation),
            ),
        )
    )


def _with_epochs(named: list[TaskIds], member_epoch: int) -> dict[Task, int]:
    """Where a record does not say when a task was assigned, the member's epoch stands for it."""
    found: dict[Task, int] = {}
    for each in named:
        epochs = each.assignment_epochs or []
        if len(epochs) != len(each.partitions):
            epochs = [member_epoch] * len(each.partitions)
        found.update({(each.subtopology_id, index): at for index, at in zip(each.partitions, epochs, strict=True)})
    return found


_REPLAYED: Final[Mapping[type[Any], Callable[[StreamsGroup, Any, Any], None]]] = {
    StreamsGroupMetadataKey: _epoch,
    StreamsGroupTopologyKey: _topology,
    StreamsGroupMemberMetadataKey: _member,
    StreamsGroupTargetAssignmentMetadataKey: _target_epoch,
    StreamsGroupTargetAssignmentMemberKey: _target,
    StreamsGroupCurrentMemberAssignmentKey: _assignment,
}

#: The keys of the records that are replayed here.
KEYS: Final[tuple[type[Any], ...]] = tuple(_REPLAYED)
