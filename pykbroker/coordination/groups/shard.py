"""One partition of ``__consumer_offsets``: its groups and their committed offsets.

Requests that concern one group come here. They change persisted state by records, which ``replay`` alone applies, after an
append and when the partition is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from pykbroker.coordination.groups import committing, no_group
from pykbroker.coordination.groups.classic.answers import not_joined
from pykbroker.coordination.groups.classic.joining import Joining
from pykbroker.coordination.groups.committed import Committed
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
from pykbroker.coordination.groups.consumer.regexes import Resolution, resolve
from pykbroker.coordination.groups.consumer.surroundings import Surroundings
from pykbroker.coordination.groups.forgetting import Forgetting, Gone
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.kinds import kind_of
from pykbroker.coordination.groups.records import group_record, offset_tombstone
from pykbroker.coordination.groups.replaying import Replaying
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome, Part
from pykbroker.coordination.shard import Shard
from pykbroker.runtime.slices import WEIGHT_OF_A_STEP, Steps
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode, KafkaError
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

#: The weight of notifying a group.
_TELLING = 0.05


class GroupShard(Shard):
    """See the module. Methods that take a ``reply`` answer through the Outcome; the others return their answer."""

    def __init__(self, around: Surroundings) -> None:
        self.groups: dict[str, Group] = {}
        self.around = around
        self.committed = Committed()
        self._forgetting = Forgetting(self.groups, self.committed.offsets, self.committed.pending)
        self._replaying = Replaying(self.groups, self.committed, around)
        self._clock = around.clock
        self._settings = around.settings

    # Membership

    def consumer_heartbeat(
        self,
        context: RequestContext,
        request: ConsumerGroupHeartbeatRequest,
        reply: Deferred[ConsumerGroupHeartbeatResponse],
    ) -> Outcome:
        """ConsumerGroupHeartbeat, already validated. Raises what the kind's ``consumer_heartbeat`` raises."""
        group = self.groups.get(request.group_id)
        heartbeat = Heartbeat(context, request, reply, self.groups.get, self.around)
        return kind_of(group).consumer_heartbeat(group, heartbeat)

    def resolved(self, asked: Resolution, matched: Mapping[str, frozenset[str]], version: int) -> Outcome:
        """The patterns of a group were matched against the topics at metadata offset ``version``."""
        group = self.groups.get(asked.group_id)
        return resolve(group, matched, asked.asker, version) if isinstance(group, ConsumerGroup) else Outcome()

    def join(self, joining: Joining) -> Outcome:
        """JoinGroup. A new group is recorded first, so that it is known after a restart."""
        request = joining.request
        group = self.groups.get(request.group_id)
        kind = kind_of(group)
        if not kind.gives_way(group):
            return kind.join(group, joining, self.groups.get)
        if request.member_id != "":
            return no_group.join(None, joining, self.groups.get)
        record = group_record(
            request.group_id,
            generation=0,
            protocol_type=None,
            protocol=None,
            leader=None,
            timestamp_ms=self._clock.now_ms(),
        )
        return Outcome(
            [*kind.end(group), record], then=partial(self.join, joining), otherwise=partial(_refuse_new, joining)
        )

    def sync(self, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse]) -> Outcome:
        """SyncGroup, which needs a group with members."""
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

    # Time and lifecycle

    def loaded(self) -> Iterator[str]:
        """All groups: the sessions of their members begin anew."""
        return iter(self.groups)

    def begin(self, key: str) -> Outcome:
        """A group was loaded."""
        group = self.groups.get(key)
        return kind_of(group).begin(group)

    def unload(self) -> Outcome:
        """Answer all waiting requests with NOT_COORDINATOR."""
        return Outcome(replies=[reply for group in self.groups.values() for reply in group.unload().replies])

    def wake_at(self, key: str) -> float:
        """When a group has something due, in monotonic seconds."""
        group = self.groups.get(key)
        return math.inf if group is None else group.wake_at

    def tick(self, key: str) -> Outcome:
        """Do what is due in a group."""
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

    def end_transaction(self, producer_id: int, *, commit: bool) -> set[str]:
        """A transaction marker is in the log: apply or drop the offsets of the transaction; returns the groups that have such."""
        return self.committed.end_transaction(producer_id, commit=commit)

    def fetch(self, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        """OffsetFetch of one group; one that does not exist has no offsets, which is no error.

        Raises KafkaError with UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH to members of consumer groups.
        """
        group = self.groups.get(request.group_id)
        kind_of(group).check_fetch(group, request)
        return committing.fetch(request, self.committed.shown(request.group_id))

    def fetch_stable(self, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        """As ``fetch``, without offsets that open transactions may change. Raises what ``fetch`` raises."""
        group = self.groups.get(request.group_id)
        kind_of(group).check_fetch(group, request)
        pending = set(self.committed.pending.of_group(request.group_id))
        return committing.fetch(request, self.committed.shown(request.group_id), pending)

    def delete_offsets(self, request: OffsetDeleteRequest, reply: Deferred[OffsetDeleteResponse]) -> Outcome:
        """OffsetDelete. Raises KafkaError with GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP."""
        group = self._existing(request.group_id)
        pending = self.committed.pending.of_group(request.group_id)
        records, response = committing.delete(
            group, request, self.committed.offsets.of_group(request.group_id), pending
        )
        return Outcome(records, [(reply, response)], atomic=False)

    def delete_group(self, group_id: str, reply: Deferred[ErrorCode]) -> Outcome:
        """DeleteGroups for one group without members; its offsets are removed too.

        If they need several batches, the tombstone of the group comes last.
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
        """Remove expired offsets, and empty groups without offsets."""
        return self._forgetting.expire(self._settings.offsets_retention_ms, self._clock.now_ms(), largest)

    def forget_topic(self, topic: str, topic_id: bytes, largest: float = WEIGHT_OF_A_STEP) -> Iterator[Part]:
        """Remove the offsets of a deleted topic, but not those of another topic with its name."""
        newest = self.committed.count
        return self._forget(
            lambda name, committed: name == topic and committed.order <= newest and committed.is_for(topic_id),
            topic,
            largest,
        )

    def forget_topics_gone(
        self, topic_ids: Callable[[str], bytes | None], largest: float = WEIGHT_OF_A_STEP
    ) -> Iterator[Part]:
        """Remove the offsets of topics that were deleted while this shard was not loaded; ``topic_ids`` has the current id
        of a name. Otherwise a recreated topic would be read from the old topic's offsets.
        """
        return self._forget(
            lambda name, committed: committed.topic_id not in (ZERO_UUID, topic_ids(name)),
            None,
            largest,
        )

    def _forget(self, gone: Gone, topic: str | None, largest: float) -> Iterator[Part]:
        """Hide the offsets of deleted topics at once; the tombstones follow."""
        return self.committed.hide(gone, topic, self._forgetting.forget(gone, topic, largest))

    def has_offsets_of(self, topic: str) -> bool:
        """Whether any group has offsets of a topic, those in open transactions included."""
        return self._forgetting.concerns(topic)

    def topics_changed(self, names: Iterable[str]) -> Steps:
        """Topics were created or deleted, or have more partitions: notify the groups that subscribe to them."""
        changed = frozenset(names)
        for group_id in list(self.groups):
            group = self.groups.get(group_id)
            if group is not None:
                kind_of(group).topics_changed(group, changed)
            yield _TELLING

    def _existing(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    # The log

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record of the log to the state."""
        self._replaying.replay(record)


def _refuse_new(joining: Joining, error: ErrorCode) -> Outcome:
    return Outcome(replies=[(joining.reply, not_joined(error))])
