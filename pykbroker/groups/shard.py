"""One partition of ``__consumer_offsets``: the groups that live in it, and their committed offsets.

Requests that concern one group come here. What they do to persisted state is said in records; ``replay`` is the only
place where that state changes, whether the record was appended just now or is read back after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pykbroker.clock import Clock
from pykbroker.context import RequestContext
from pykbroker.groups import committing
from pykbroker.groups.answers import not_assigned, not_joined
from pykbroker.groups.classic_group import ClassicGroup, State
from pykbroker.groups.joining import Joining, join
from pykbroker.groups.leaving import leave
from pykbroker.groups.offsets import CommittedOffset, Offsets
from pykbroker.groups.outcome import Outcome, Record
from pykbroker.groups.pending import PendingOffsets
from pykbroker.groups.records import group_record, group_tombstone, offset_tombstone
from pykbroker.groups.settings import GroupSettings
from pykbroker.groups.syncing import sync
from pykbroker.waits import Deferred
from wire.errors import ErrorCode, KafkaError
from wire.internal.group_metadata import GroupMetadataKey, GroupMetadataValue
from wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from wire.primitives import ZERO_UUID


class GroupShard:
    """See the module. Methods that take a ``reply`` answer through the Outcome; the others return their answer."""

    def __init__(self, clock: Clock, settings: GroupSettings) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self._offsets = Offsets()
        self._pending = PendingOffsets()
        self._commits = 0
        self._clock = clock
        self._settings = settings

    # Membership

    def join(self, joining: Joining) -> Outcome:
        """JoinGroup. A group that is new gets its record first, so that the id given out is known after a restart."""
        request = joining.request
        group = self.groups.get(request.group_id)
        if group is not None:
            return join(group, joining)
        if request.member_id != "":
            return joining.refused(ErrorCode.UNKNOWN_MEMBER_ID, Outcome())
        record = group_record(
            request.group_id,
            generation=0,
            protocol_type=None,
            protocol=None,
            leader=None,
            timestamp_ms=self._clock.now_ms(),
        )
        return Outcome([record], then=partial(self.join, joining), otherwise=partial(_refuse_new, joining))

    def sync(self, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse]) -> Outcome:
        """SyncGroup."""
        group = self.groups.get(request.group_id)
        if group is None or group.is_empty:
            return Outcome(replies=[(reply, not_assigned(ErrorCode.UNKNOWN_MEMBER_ID))])
        return sync(group, request, reply)

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Heartbeat. Raises KafkaError with UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION."""
        group = self.groups.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = group.members.validate(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        group.touch(member)
        if group.state is State.PREPARING_REBALANCE:
            return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        return HeartbeatResponse()

    def leave(self, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse]) -> Outcome:
        """LeaveGroup in its batched form."""
        return leave(self.groups.get(request.group_id), request, reply)

    def tick(self, group_id: str) -> Outcome:
        """Do what has become due in a group."""
        group = self.groups.get(group_id)
        return Outcome() if group is None else group.tick()

    # Offsets

    def commit(
        self, context: RequestContext, request: OffsetCommitRequest, reply: Deferred[OffsetCommitResponse]
    ) -> Outcome:
        """OffsetCommit. Raises KafkaError when nothing of it is allowed (see ``committing``)."""
        committing.check_commit(self.groups.get(request.group_id), request, context.api_version)
        records, response = committing.commit(request, self._settings, self._clock.now_ms())
        return Outcome(records, [(reply, response)])

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, reply: Deferred[TxnOffsetCommitResponse]
    ) -> Outcome:
        """TxnOffsetCommit. Raises KafkaError when nothing of it is allowed (see ``committing``)."""
        committing.check_commit_in_transaction(self.groups.get(request.group_id), request)
        records, response = committing.commit_in_transaction(request, self._settings, self._clock.now_ms())
        return Outcome(records, [(reply, response)], producer=(request.producer_id, request.producer_epoch))

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The marker of a producer's transaction is in the log: what was committed in it counts, or goes."""
        for (group_id, topic, index), committed in self._pending.end(producer_id).items():
            existing = self._offsets.of_group(group_id).get(topic, {}).get(index)
            if commit and (existing is None or existing.order < committed.order):
                self._offsets.put(group_id, topic, index, committed)

    def fetch(self, request: OffsetFetchRequestGroup, *, stable: bool = False) -> OffsetFetchResponseGroup:
        """OffsetFetch of one group; one that does not exist has no offsets, which is no error."""
        pending = set(self._pending.of_group(request.group_id)) if stable else set()
        return committing.fetch(request, self._offsets.of_group(request.group_id), pending)

    def delete_offsets(self, request: OffsetDeleteRequest, reply: Deferred[OffsetDeleteResponse]) -> Outcome:
        """OffsetDelete. Raises KafkaError with GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP."""
        group = self._existing(request.group_id)
        records, response = committing.delete(group, request, self._offsets.of_group(request.group_id))
        return Outcome(records, [(reply, response)])

    def delete_group(self, group_id: str, reply: Deferred[ErrorCode]) -> Outcome:
        """DeleteGroups, one group: with its offsets, and only when it has no members."""
        group = self.groups.get(group_id)
        if group is None:
            return Outcome(replies=[(reply, ErrorCode.GROUP_ID_NOT_FOUND)])
        if not group.is_empty:
            return Outcome(replies=[(reply, ErrorCode.NON_EMPTY_GROUP)])
        offsets = {(topic, index) for topic, found in self._offsets.of_group(group_id).items() for index in found}
        offsets.update(self._pending.of_group(group_id))
        tombstones = [offset_tombstone(group_id, topic, index) for topic, index in sorted(offsets)]
        return Outcome([*tombstones, group_tombstone(group_id)], [(reply, ErrorCode.NONE)])

    def expire(self) -> Outcome:
        """Remove offsets that nobody wants any more, and empty groups that have none left."""
        outcome = Outcome()
        now_ms = self._clock.now_ms()
        for group_id, group in self.groups.items():
            offsets = self._offsets.of_group(group_id)
            pending = set(self._pending.of_group(group_id))
            records, none_left = committing.expire(group, offsets, pending, self._settings.offsets_retention_ms, now_ms)
            outcome.records += records
            if none_left and group.is_empty:
                outcome.records.append(group_tombstone(group_id))
        return outcome

    def forget_topic(self, topic: str, topic_id: bytes) -> Outcome:
        """Remove what was committed for a topic that is deleted, unless it was committed for another of that name."""
        return Outcome(
            [
                offset_tombstone(group_id, name, partition)
                for group_id, name, partition, committed in self._offsets
                if name == topic and committed.is_for(topic_id)
            ]
        )

    def forget_topics_gone(self, topic_ids: Callable[[str], bytes | None]) -> Outcome:
        """Remove what was committed for topics that were deleted while this shard was not loaded; ``topic_ids`` gives
        the id of the topic that has a name now. Else a topic made again would be read from where the former one was.
        """
        return Outcome(
            [
                offset_tombstone(group_id, name, partition)
                for group_id, name, partition, committed in self._offsets
                if committed.topic_id not in (ZERO_UUID, topic_ids(name))
            ]
        )

    def _existing(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    # The log

    def replay(self, record: Record) -> None:
        """Take a record that is in the log into the state. Types of groups not served here are skipped."""
        if isinstance(record.key, OffsetCommitKey):
            self._replay_offset(record.key, record.value, record.producer_id)
        elif isinstance(record.key, GroupMetadataKey):
            self._replay_group(record.key.group, record.value)

    def _replay_offset(self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int) -> None:
        if value is None:
            self._offsets.remove(key.group, key.topic, key.partition)
            self._pending.remove((key.group, key.topic, key.partition))
            return
        if key.group not in self.groups:  # a simple group: it exists by its offsets alone
            self.groups[key.group] = ClassicGroup(key.group, self._clock, self._settings)
        self._commits += 1
        committed = CommittedOffset.from_record(value)
        committed.order = self._commits
        if producer_id < 0:
            self._offsets.put(key.group, key.topic, key.partition, committed)
        else:
            self._pending.put(producer_id, (key.group, key.topic, key.partition), committed)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if group is not None:
                del self.groups[group_id]
                group.die()
            return
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id, self._clock, self._settings)
        group.restore(value)


def _refuse_new(joining: Joining, error: ErrorCode) -> Outcome:
    return Outcome(replies=[(joining.reply, not_joined(error))])
