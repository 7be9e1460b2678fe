"""One partition of ``__consumer_offsets``: its groups and their committed offsets.

Requests that concern one group come here. They change persisted state by records, which ``replay`` alone applies, after an
append and when the partition is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import TypeVar

from pykbroker.coordination.groups import committing, records
from pykbroker.coordination.groups.committed import Committed
from pykbroker.coordination.groups.forgetting import Forgetting, Gone, in_pieces
from pykbroker.coordination.groups.group import Group, group_not_found
from pykbroker.coordination.groups.kinds import Kinds
from pykbroker.coordination.groups.offsets import CommittedInTopic, CommittedOffset
from pykbroker.coordination.groups.records import offset_tombstone
from pykbroker.coordination.groups.replaying import Replaying
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import CoordinatorRecord, Decision, EncodedDecision, Outcome, Part
from pykbroker.coordination.shard import Shard
from pykbroker.partitions.internal_records import CoordinatorBatch
from pykbroker.runtime.slices import WEIGHT_OF_A_STEP, Steps
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from pykbroker.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from pykbroker.wire.primitives import ZERO_UUID

T = TypeVar("T")

#: The weight of notifying a group.
_TELLING = 0.05
#: Bytes of the record that removes an offset, with names of one letter.
_SMALLEST_TOMBSTONE = 18
_FEW_OFFSETS = 20


class GroupShard(Shard):
    """See the module. Requests are steps for ``GroupCoordinator.ask``."""

    def __init__(self, around: Surroundings, kinds: Kinds | None = None) -> None:
        self.groups: dict[str, Group] = {}
        self.around = around
        self.kinds = kinds = kinds or Kinds()
        self.committed = Committed()
        self._forgetting = Forgetting(self.groups, kinds, self.committed.offsets, self.committed.pending)
        self._replaying = Replaying(self.groups, self.committed, kinds, around)
        self._clock = around.clock
        self._settings = around.settings

    # Time and lifecycle

    def keys(self) -> Iterable[str]:
        """All groups."""
        return self.groups

    def loaded(self) -> Iterator[str]:
        """All groups: the sessions of their members begin anew."""
        return iter(self.groups)

    def begin(self, key: str) -> Outcome:
        """A group was loaded."""
        group = self.groups.get(key)
        return self.kinds.of(group).begin(group)

    def unload(self, key: str) -> Outcome:
        """Answer all requests that wait in a group with NOT_COORDINATOR."""
        return self.groups[key].unload()

    def wake_at(self, key: str) -> float:
        """When a group has something due, in monotonic seconds."""
        group = self.groups.get(key)
        return math.inf if group is None else group.wake_at

    def tick(self, key: str) -> Outcome:
        """Do what is due in a group."""
        group = self.groups.get(key)
        return self.kinds.of(group).tick(group, self.groups.get)

    # Offsets

    def commit(
        self, context: RequestContext, request: OffsetCommitRequest
    ) -> OffsetCommitResponse | EncodedDecision[OffsetCommitResponse]:
        """OffsetCommit. Raises what the kind's ``check_commit`` raises: then nothing of it is allowed."""
        group = self.groups.get(request.group_id)
        self.kinds.of(group).check_commit(group, request, context.api_version)
        committed, response = committing.commit(request, self._settings)
        return self._commits(request, committed, response) if committed else response

    def commit_usual(
        self, request: OffsetCommitRequest, committed: list[CommittedInTopic], version: int
    ) -> EncodedDecision[None]:
        """OffsetCommit of what is known to be not too large; only ``check_commit`` reads the topics of ``request``. Raises what that
        raises.
        """
        group = self.groups.get(request.group_id)
        self.kinds.of(group).check_commit(group, request, version)
        return self._commits(request, committed, None)

    def _commits(
        self, request: OffsetCommitRequest, committed: list[CommittedInTopic], answer: T
    ) -> EncodedDecision[T]:
        group_id, now_ms, batch = request.group_id, self._clock.now_ms(), CoordinatorBatch()
        expires_ms = committing.expiry(request, now_ms)
        for each in committed:
            records.add_offsets(batch, group_id, each, now_ms, expires_ms)
        replay = partial(self._replaying.replay_commit, group_id, committed, now_ms, expires_ms)
        return EncodedDecision(answer, batch, replay)

    def commit_in_transaction(self, request: TxnOffsetCommitRequest) -> Decision[TxnOffsetCommitResponse]:
        """TxnOffsetCommit. Raises what the kind's ``check_commit_in_transaction`` raises."""
        group = self.groups.get(request.group_id)
        self.kinds.of(group).check_commit_in_transaction(group, request)
        offsets, response = committing.commit_in_transaction(request, self._settings, self._clock.now_ms())
        return Decision(response, Outcome(offsets, producer=(request.producer_id, request.producer_epoch)))

    def end_transaction(self, producer_id: int, *, commit: bool) -> set[str]:
        """A transaction marker is in the log: apply or drop the offsets of the transaction; returns the groups that have such."""
        return self.committed.end_transaction(producer_id, commit=commit)

    def fetch(self, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        """OffsetFetch of one group; one that does not exist has no offsets, which is no error.

        Raises KafkaError with UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH to members of consumer groups.
        """
        group = self.groups.get(request.group_id)
        self.kinds.of(group).check_fetch(group, request)
        return committing.fetch(request, self.committed.visible(request.group_id))

    def fetch_stable(self, request: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        """As ``fetch``, without offsets that open transactions may change. Raises what ``fetch`` raises."""
        group = self.groups.get(request.group_id)
        self.kinds.of(group).check_fetch(group, request)
        pending = set(self.committed.pending.of_group(request.group_id))
        return committing.fetch(request, self.committed.visible(request.group_id), pending)

    def delete_offsets(self, request: OffsetDeleteRequest) -> Decision[OffsetDeleteResponse]:
        """OffsetDelete. Raises KafkaError with GROUP_ID_NOT_FOUND, and what the kind's ``check_delete_offsets`` raises."""
        group = self.groups.get(request.group_id)
        if group is None:
            raise group_not_found(request.group_id)
        self.kinds.of(group).check_delete_offsets(group)
        pending = self.committed.pending.of_group(request.group_id)
        tombstones, response = committing.delete(
            group, request, self.committed.offsets.of_group(request.group_id), pending
        )
        return Decision(response, Outcome(tombstones, atomic=False))

    def delete_group(self, group_id: str) -> ErrorCode | Decision[ErrorCode]:
        """DeleteGroups for one group without members; its offsets are removed too.

        If they need several batches, the tombstone of the group comes last.
        """
        group = self.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if not group.is_empty:
            return ErrorCode.NON_EMPTY_GROUP
        everything = self.committed.everything_of(group_id)
        tombstones = [offset_tombstone(group_id, topic, index) for topic, index in everything]
        return Decision(ErrorCode.NONE, Outcome([*tombstones, *self.kinds.of(group).end(group)], atomic=False))

    def may_delete(self, group_id: str) -> bool:
        """Whether the group exists and has no members."""
        group = self.groups.get(group_id)
        return group is not None and group.is_empty

    def has_many_offsets(self, group_id: str) -> bool:
        """Whether the offsets of a group are too many to be removed in one step with others."""
        return self.committed.count_of(group_id) > _FEW_OFFSETS

    def removal_of(
        self, group_id: str, batch: CoordinatorBatch, room: int, largest: float
    ) -> Generator[float, None, list[CoordinatorRecord] | None]:
        """Encode the tombstones of all that a group has, in slices; those that end the group are returned. What is committed meanwhile is
        removed, too: they are those of the moment in which this ends. None if they need more than ``room`` bytes.
        """
        if self.committed.count_of(group_id) * _SMALLEST_TOMBSTONE > room:
            return None
        encoded: set[tuple[str, int]] = set()
        for some in in_pieces(self.committed.everything_of(group_id), largest):
            self._encode_tombstones(group_id, some, batch)
            encoded.update(some)
            if len(batch) > room:
                return None
            yield len(some)
        self._encode_tombstones(group_id, set(self.committed.everything_of(group_id)) - encoded, batch)
        group = self.groups.get(group_id)
        ending = [] if group is None else self.kinds.of(group).end(group)
        batch.add([records.encode(each) for each in ending])
        return None if len(batch) > room else ending

    @staticmethod
    def _encode_tombstones(group_id: str, some: Iterable[tuple[str, int]], batch: CoordinatorBatch) -> None:
        batch.add([records.encode(offset_tombstone(group_id, topic, index)) for topic, index in some])

    def removed(self, group_id: str, ending: Iterable[CoordinatorRecord]) -> None:
        """The tombstones of ``removal_of`` are in the log: apply them."""
        self.committed.remove_group(group_id)
        for record in ending:
            self.replay(record)

    def forget_group(self, group_id: str, largest: float = WEIGHT_OF_A_STEP) -> Generator[Part, None, None]:
        """Remove the offsets of a group that is about to be deleted; what is committed meanwhile stays."""
        newest = self.committed.count

        def gone(_: str, committed: CommittedOffset) -> bool:
            return committed.order <= newest

        yield from self.committed.hide_of(group_id, gone, self._forgetting.forget_group(group_id, gone, largest))

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
                self.kinds.of(group).topics_changed(group, changed)
            yield _TELLING

    # The log

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record of the log to the state."""
        self._replaying.replay(record)
