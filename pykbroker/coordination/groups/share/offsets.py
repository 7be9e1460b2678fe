"""Where a share group begins its partitions, as administrators ask for it and change it: steps for ``GroupCoordinator.ask``.

What the share coordinator has of it is changed between two steps: ``altered`` and ``deleted`` are the second ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.member_group import existing
from pykbroker.coordination.groups.share import initializing
from pykbroker.coordination.groups.share.group import ShareGroup, TopicState
from pykbroker.coordination.groups.share.records import state_record
from pykbroker.coordination.outcome import Decision, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.shard import GroupShard

Topics = Mapping[bytes, frozenset[int]]


def initialized(shard: GroupShard, group_id: str) -> dict[bytes, frozenset[int]]:
    """The partitions of a group that have state, by topic id; none if there is no such share group."""
    group = shard.groups.get(group_id)
    topics = group.initialized if isinstance(group, ShareGroup) else {}
    return {topic_id: each.partitions for topic_id, each in topics.items()}


def alter(shard: GroupShard, group_id: str, topics: Topics) -> Decision[int]:
    """Note partitions as being initialized anew; the state epoch for it. A group that does not exist is created.

    Raises KafkaError NON_EMPTY_GROUP, and GROUP_ID_NOT_FOUND for a group of another kind.
    """
    if group_id in shard.groups:
        group = _empty(shard, group_id)
    else:
        group = ShareGroup(group_id, shard.around)
    now_ms = shard.around.clock.now_ms()
    new = {
        topic_id: TopicState(shard.around.topic_name(topic_id) or "", partitions, now_ms)
        for topic_id, partitions in topics.items()
    }
    if not new:
        return Decision(group.epoch, Outcome())
    begun = initializing.together(group.initializing, new)
    deleting = {topic_id: name for topic_id, name in group.deleting.items() if topic_id not in new}
    return Decision(group.epoch, Outcome([state_record(group_id, begun, group.initialized, deleting)]))


def altered(shard: GroupShard, group_id: str, topics: Topics) -> Decision[None]:
    """The share coordinator has them. Raises KafkaError GROUP_ID_NOT_FOUND."""
    return Decision(
        None, Outcome(initializing.done(existing(shard.groups.get, group_id, ShareGroup), topics, initialized=True))
    )


def delete(shard: GroupShard, group_id: str, topic_ids: Iterable[bytes]) -> Decision[dict[bytes, frozenset[int]]]:
    """Note topics as being deleted; their partitions that have state. Topics without state are left out.

    Raises KafkaError GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.
    """
    group = _empty(shard, group_id)
    found: dict[bytes, frozenset[int]] = {}
    deleting = dict(group.deleting)
    for topic_id in topic_ids:
        topic = shard.around.image.topic_by_id(topic_id)
        if topic_id in group.initialized:
            found[topic_id] = group.initialized[topic_id].partitions
            deleting[topic_id] = group.initialized[topic_id].name
        elif topic_id in group.deleting and topic is not None:
            found[topic_id] = frozenset(range(len(topic.partitions)))
    left = {topic_id: each for topic_id, each in group.initialized.items() if topic_id not in found}
    records = [state_record(group_id, group.initializing, left, deleting)] if found else []
    return Decision(found, Outcome(records))


def deleted(shard: GroupShard, group_id: str, topic_ids: Iterable[bytes]) -> Decision[None]:
    """The share coordinator has them no longer. Raises KafkaError GROUP_ID_NOT_FOUND."""
    group = existing(shard.groups.get, group_id, ShareGroup)
    gone = frozenset(topic_ids)
    deleting = {topic_id: name for topic_id, name in group.deleting.items() if topic_id not in gone}
    if deleting == group.deleting:
        return Decision(None, Outcome())
    return Decision(None, Outcome([state_record(group_id, group.initializing, group.initialized, deleting)]))


def begin_deletion(shard: GroupShard, group_id: str) -> Decision[dict[bytes, frozenset[int]]] | None:
    """DeleteGroups of a share group: note all topics as being deleted; their partitions. None for a group of another kind, or
    one that cannot be deleted.
    """
    group = shard.groups.get(group_id)
    if not isinstance(group, ShareGroup) or not group.is_empty:
        return None
    found = {topic_id: each.partitions for topic_id, each in group.initialized.items()}
    for topic_id in group.deleting:
        topic = shard.around.image.topic_by_id(topic_id)
        if topic is not None:
            found[topic_id] = frozenset(range(len(topic.partitions)))
    for topic_id, each in group.initializing.items():
        found[topic_id] = found.get(topic_id, frozenset()) | each.partitions
    if not found:
        return None
    deleting = dict(group.deleting)
    for topics in (group.initialized, group.initializing):
        deleting.update((topic_id, each.name) for topic_id, each in topics.items())
    return Decision(found, Outcome([state_record(group_id, {}, {}, deleting)]))


def _empty(shard: GroupShard, group_id: str) -> ShareGroup:
    group = existing(shard.groups.get, group_id, ShareGroup)
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    return group
