"""Records of share groups back into groups: the only place where their state changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pykbroker.coordination.groups.member_group import LEAVING
from pykbroker.coordination.groups.share.group import ShareGroup, ShareMember, TopicState
from pykbroker.coordination.groups.share.records import partitions_of
from pykbroker.wire.internal.share_group_current_member_assignment import ShareGroupCurrentMemberAssignmentKey
from pykbroker.wire.internal.share_group_member_metadata import ShareGroupMemberMetadataKey
from pykbroker.wire.internal.share_group_metadata import ShareGroupMetadataKey
from pykbroker.wire.internal.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    TopicPartitionsInfo,
)
from pykbroker.wire.internal.share_group_target_assignment_member import ShareGroupTargetAssignmentMemberKey
from pykbroker.wire.internal.share_group_target_assignment_metadata import ShareGroupTargetAssignmentMetadataKey


def replay(group: ShareGroup, key: Any, value: Any) -> None:
    """Take a record of the group into its state; ``value`` is None for a tombstone. The group's own end is the kind's."""
    _REPLAYED[type(key)](group, key, value)


def ends_group(key: Any, value: Any) -> bool:
    """Whether a record is the tombstone of a whole group."""
    return value is None and isinstance(key, ShareGroupMetadataKey)


def _epoch(group: ShareGroup, _key: Any, value: Any) -> None:
    group.epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _member(group: ShareGroup, key: Any, value: Any) -> None:
    if value is None:
        group.remove(key.member_id)
        return
    known = group.members.get(key.member_id) or ShareMember(key.member_id)
    group.put(
        replace(
            known,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed=frozenset(value.subscribed_topic_names),
        )
    )


def _target_epoch(group: ShareGroup, _key: Any, value: Any) -> None:
    group.target_epoch = -1 if value is None else value.assignment_epoch
    group.target_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target(group: ShareGroup, key: Any, value: Any) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = partitions_of(value.topic_partitions)


def _assignment(group: ShareGroup, key: Any, value: Any) -> None:
    known = group.members.get(key.member_id)
    if value is None:
        if known is not None:
            group.put(replace(known, epoch=LEAVING, previous_epoch=LEAVING, assigned={}))
        return
    group.put(
        replace(
            known or ShareMember(key.member_id),
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned=partitions_of(value.assigned_partitions),
        )
    )


def _state(group: ShareGroup, _key: Any, value: Any) -> None:
    now_ms = group.around.clock.now_ms()
    group.initializing = {} if value is None else _topics(value.initializing_topics, now_ms)
    group.initialized = {} if value is None else _topics(value.initialized_topics, now_ms)
    group.deleting = {} if value is None else {each.topic_id: each.topic_name for each in value.deleting_topics}


def _topics(infos: list[TopicPartitionsInfo], now_ms: int) -> dict[bytes, TopicState]:
    return {each.topic_id: TopicState(each.topic_name, frozenset(each.partitions), now_ms) for each in infos}


_REPLAYED: Final[Mapping[type[Any], Callable[[ShareGroup, Any, Any], None]]] = {
    ShareGroupMetadataKey: _epoch,
    ShareGroupMemberMetadataKey: _member,
    ShareGroupTargetAssignmentMetadataKey: _target_epoch,
    ShareGroupTargetAssignmentMemberKey: _target,
    ShareGroupCurrentMemberAssignmentKey: _assignment,
    ShareGroupStatePartitionMetadataKey: _state,
}

#: The keys of the records that are replayed here.
KEYS: Final[tuple[type[Any], ...]] = tuple(_REPLAYED)
