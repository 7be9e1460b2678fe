"""One partition of ``__consumer_offsets``: the groups that live in it, and their committed offsets.

Requests that concern one group come here. What they do to persisted state is said in records; ``replay`` is the only
place where that state changes, whether the record was appended just now or is read back after a restart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from pykbroker.coordination.groups import committing, no_group
from pykbroker.coordination.groups.classic.answers import not_assigned, not_joined
from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.classic.joining import Joining
from pykbroker.coordination.groups.committed import Committed
from pykbroker.coordination.groups.consumer import leaving, migration, replaying
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
from pykbroker.coordination.groups.consumer.member import LEAVING, LEAVING_FOR_NOW
from pykbroker.coordination.groups.consumer.surroundings import Surroundings
from pykbroker.coordination.groups.forgetting import Forgetting, Gone
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.kinds import kind_of
from pykbroker.coordination.groups.records import group_record, group_tombstone, offset_tombstone
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome, Part
from pykbroker.coordination.shard import Shard
from pykbroker.runtime.slices import WEIGHT_OF_A_STEP
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.group_metadata import GroupMetadataKey, GroupMetadataValue
from pykbroker.wire.internal.offset_commit import OffsetCommitKey
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from pykbroker.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from pykbroker.wire.primitives import ZERO_UUID


class GroupShard(Shard):
    """See the module. Methods that take a ``reply`` answer through the Outcome; the others return their answer."""

    def __init__(self, around: Surroundings) -> None:
        self.groups: dict[str, Group] = {}
        self.around = around
        self.committed = Committed()
        self._forgetting = Forgetting(self.groups, self.committed.offsets, self.committed.pending)
        #: The consumer group that the record before this one ended.
        self._just_ended: str | None = None
        self._clock = around.clock
        self._settings = around.settings

    # Membership

    def consumer_heartbeat(
        self,
        context: RequestContext,
        request: ConsumerGroupHeartbeatRequest,
        reply: Deferred[ConsumerGroupHeartbeatResponse],
    ) -> Outcome:
        """ConsumerGroupHeartbeat, checked by itself. Raises what ``Heartbeat.beat`` and ``leave`` raise."""
        group = self.groups.get(request.group_id)
        if request.member_epoch in (LEAVING, LEAVING_FOR_NOW):
            return leaving.leave(self._consumer_group(request.group_id), request, reply, self.groups.get)
        heartbeat = Heartbeat(context, request, reply, self._find_consumer_group)
        if isinstance(group, ConsumerGroup):
            return heartbeat.beat(group, [])
        if request.member_epoch != 0:
            return heartbeat.beat(self._consumer_group(request.group_id, "Consumer group"), [])
        if group is None:
            return heartbeat.beat(ConsumerGroup(request.group_id, self.around), [])
        if group.is_empty:
            return heartbeat.beat(ConsumerGroup(request.group_id, self.around), [group_tombstone(request.group_id)])
        return self._upgrade(group, heartbeat)

    def _upgrade(self, classic: ClassicGroup, heartbeat: Heartbeat) -> Outcome:
        """A member of the consumer protocol comes to a classic group: whoever waits in it has to join again."""
        records, group = migration.upgrade(classic, self.around)
        out = heartbeat.beat(group, records)
        code = ErrorCode.REBALANCE_IN_PROGRESS
        for member in classic.members:
            out.reply(member.joining, not_joined(code, member.member_id))
            out.reply(member.syncing, not_assigned(code))
        settle = out.then

        def upgraded() -> Outcome:
            made = self._consumer_group(classic.group_id)
            for member in classic.members:
                made.deadlines.heard_of(member.member_id, member.session_timeout_ms)
            return Outcome() if settle is None else settle()

        out.then = upgraded
        return out

    def _consumer_group(self, group_id: str, kind: str = "Group") -> ConsumerGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"{kind} {group_id} not found.")
        if not isinstance(group, ConsumerGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return group

    def _find_consumer_group(self, group_id: str) -> ConsumerGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def join(self, joining: Joining) -> Outcome:
        """JoinGroup. A group that is new gets its record first, so that the id given out is known after a restart."""
        request = joining.request
        group = self.groups.get(request.group_id)
        is_new = group is None or (group.is_empty and not isinstance(group, ClassicGroup))
        if not is_new:
            return kind_of(group).join(group, joining, self.groups.get)
        if request.member_id != "":
            return no_group.join(None, joining, self.groups.get)
        ended = kind_of(group).end(group)
        record = group_record(
            request.group_id,
            generation=0,
            protocol_type=None,
            protocol=None,
            leader=None,
            timestamp_ms=self._clock.now_ms(),
        )
        return Outcome([*ended, record], then=partial(self.join, joining), otherwise=partial(_refuse_new, joining))

    def sync(self, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse]) -> Outcome:
        """SyncGroup. In a group without members there is nobody to be assigned anything."""
        group = self.groups.get(request.group_id)
        if group is not None and group.is_empty:
            group = None
        return kind_of(group).sync(group, request, reply)

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Heartbeat. Raises KafkaError with UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION."""
        group = self.groups.get(request.group_id)
        return kind_of(group).heartbeat(group, request)

    def leave(self, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse]) -> Outcome:
        """LeaveGroup in its batched form."""
        group = self.groups.get(request.group_id)
        return kind_of(group).leave(group, request, reply, self.groups.get)

    # Time, and the shard's own life

    def loaded(self) -> Iterator[str]:
        """All groups: their members have to be heard of again."""
        return iter(self.groups)

    def begin(self, key: str) -> Outcome:
        """A group was loaded."""
        group = self.groups.get(key)
        return kind_of(group).begin(group)

    def unload(self) -> Outcome:
        """Whoever waits in a group is told to look for its coordinator again."""
        return Outcome(replies=[reply for group in self.groups.values() for reply in group.unload().replies])

    def wake_at(self, key: str) -> float:
        """When a group wants to be woken."""
        group = self.groups.get(key)
        return math.inf if group is None else group.wake_at

    def tick(self, key: str) -> Outcome:
        """Do what has become due in a group."""
        group = self.groups.get(key)
        return kind_of(group).tick(group, self.groups.get)

    # Offsets

    def commit(
        self, context: RequestContext, request: OffsetCommitRequest, reply: Deferred[OffsetCommitResponse]
    ) -> Outcome:
        """OffsetCommit. Raises what the kind's ``check_commit`` raises: then nothing of it is allowed."""
        group = self.groups.get(request.group_id)
        kind_of(group).check_commit(group, request, context.api_version)
        records, response = committing.commit(request, self._settings, self._clock.now_ms())
        return Outcome(records, [(reply, response)])

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, reply: Deferred[TxnOffsetCommitResponse]
    ) -> Outcome:
        """TxnOffsetCommit. Raises what the kind's ``check_commit_in_transaction`` raises: then nothing of it is allowed."""
        group = self.groups.get(request.group_id)
        kind_of(group).check_commit_in_transaction(group, request)
        records, response = committing.commit_in_transaction(request, self._settings, self._clock.now_ms())
        return Outcome(records, [(reply, response)], producer=(request.producer_id, request.producer_epoch))

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a producer's transaction is in the log: what was committed in it counts, or goes."""
        self.committed.end_transaction(producer_id, commit=commit)

    def fetch(self, request: OffsetFetchRequestGroup, *, stable: bool = False) -> OffsetFetchResponseGroup:
        """OffsetFetch of one group; one that does not exist has no offsets, which is no error.

        Raises KafkaError with UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH to members of consumer groups.
        """
        group = self.groups.get(request.group_id)
        kind_of(group).check_fetch(group, request)
        pending = set(self.committed.pending.of_group(request.group_id)) if stable else set()
        return committing.fetch(request, self.committed.shown(request.group_id), pending)

    def delete_offsets(self, request: OffsetDeleteRequest, reply: Deferred[OffsetDeleteResponse]) -> Outcome:
        """OffsetDelete. Raises KafkaError with GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP."""
        group = self._existing(request.group_id)
        records, response = committing.delete(group, request, self.committed.offsets.of_group(request.group_id))
        return Outcome(records, [(reply, response)], atomic=False)

    def delete_group(self, group_id: str, reply: Deferred[ErrorCode]) -> Outcome:
        """DeleteGroups, one group: with its offsets, and only when it has no members.

        Where these are too many for one batch, the record that ends the group comes last.
        """
        group = self.groups.get(group_id)
        if group is None:
            return Outcome(replies=[(reply, ErrorCode.GROUP_ID_NOT_FOUND)])
        if not group.is_empty:
            return Outcome(replies=[(reply, ErrorCode.NON_EMPTY_GROUP)])
        everything = self.committed.everything_of(group_id)
        tombstones = [offset_tombstone(group_id, topic, index) for topic, index in everything]
        return Outcome([*tombstones, *kind_of(group).end(group)], [(reply, ErrorCode.NONE)], atomic=False)

    def expire(self, largest: float = WEIGHT_OF_A_STEP) -> Iterator[Part]:
        """Remove offsets that nobody wants any more, and empty groups that have none left."""
        return self._forgetting.expire(self._settings.offsets_retention_ms, self._clock.now_ms(), largest)

    def forget_topic(self, topic: str, topic_id: bytes, largest: float = WEIGHT_OF_A_STEP) -> Iterator[Part]:
        """Remove what was committed for a topic that is deleted, unless it was committed for another of that name."""
        newest = self.committed.count
        return self._forget(
            lambda name, committed: name == topic and committed.order <= newest and committed.is_for(topic_id),
            topic,
            largest,
        )

    def forget_topics_gone(
        self, topic_ids: Callable[[str], bytes | None], largest: float = WEIGHT_OF_A_STEP
    ) -> Iterator[Part]:
        """Remove what was committed for topics that were deleted while this shard was not loaded; ``topic_ids`` gives
        the id of the topic that has a name now. Else a topic made again would be read from where the former one was.
        """
        return self._forget(
            lambda name, committed: committed.topic_id not in (ZERO_UUID, topic_ids(name)),
            None,
            largest,
        )

    def _forget(self, gone: Gone, topic: str | None, largest: float) -> Iterator[Part]:
        """From now on nobody is given what is gone, also where the tombstones are still to come."""
        return self.committed.hide(gone, self._forgetting.forget(gone, topic, largest))

    def topics_changed(self, names: Iterable[str]) -> None:
        """Topics came, went, or have more partitions: groups that read them look at their metadata again."""
        changed = frozenset(names)
        for group in self.groups.values():
            kind_of(group).topics_changed(group, changed)

    def _existing(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    # The log

    def replay(self, record: CoordinatorRecord) -> None:
        """Take a record that is in the log into the state. Types of groups not served here are skipped."""
        ended, self._just_ended = self._just_ended, None
        if isinstance(record.key, OffsetCommitKey):
            group_id = record.key.group
            if record.value is not None and group_id not in self.groups:  # it exists by its offsets alone
                self.groups[group_id] = ClassicGroup(group_id, self._clock, self._settings)
            self.committed.replay(record.key, record.value, record.producer_id)
        elif isinstance(record.key, GroupMetadataKey):
            self._replay_group(record.key.group, record.value, downgraded=ended == record.key.group)
        elif isinstance(record.key, replaying.KEYS):
            if replaying.ends_group(record.key, record.value):
                self._just_ended = record.key.group_id
            self._replay_consumer_group(record.key.group_id, record.key, record.value)

    def _replay_consumer_group(self, group_id: str, key: Any, value: Any) -> None:
        group = self.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return
            # A classic group that only holds offsets has no record to end it.
            group = self.groups[group_id] = ConsumerGroup(group_id, self.around)
        if replaying.ends_group(key, value):
            del self.groups[group_id]
            group.die()
        else:
            replaying.replay(group, key, value)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None, *, downgraded: bool) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if group is not None:
                del self.groups[group_id]
                group.die()
            return
        if not isinstance(group, ClassicGroup):
            group = self.groups[group_id] = ClassicGroup(group_id, self._clock, self._settings)
        group.restore(value)
        group.owes_rebalance = downgraded


def _refuse_new(joining: Joining, error: ErrorCode) -> Outcome:
    return Outcome(replies=[(joining.reply, not_joined(error))])
