"""A broker's group coordinator: requests of clients, and effects of metadata changes and of time on groups.

It has one shard per partition of ``__consumer_offsets`` that the broker leads. A shard decides (``shard.py``), and the runtime
carries its decisions out (``coordination/runtime.py``). Requests are steps, functions of a shard, given to ``ask``: the offsets' are
in ``shard.py``, those of a protocol in the folder of its kind (``classic/requests.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.coordination.appending import client_error
from pykbroker.coordination.groups import records
from pykbroker.coordination.groups.group import Group, check_group_id
from pykbroker.coordination.groups.kinds import Kinds
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import Outcome, Part
from pykbroker.coordination.runtime import CoordinatorRuntime
from pykbroker.coordination.transactions.admitting import Dialect, Refusals, admit
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.partitions.internal_records import CoordinatorBatch
from pykbroker.runtime.slices import independently
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.kind import Effect
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.shards import Loaded
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.storage.log.log import AppendResult

T = TypeVar("T")

#: Names of a request that are not counted: as many fit into a record.
_MANY_NAMES = 1000


class GroupCoordinator:
    """See the module."""

    def __init__(self, host: CoordinationHost) -> None:
        self.host = host
        self._kinds = Kinds()
        self.settings = GroupSettings.from_config(host.config)
        self._runtime = CoordinatorRuntime(
            host,
            CONSUMER_OFFSETS,
            self.settings.offsets_partitions,
            codec=records,
            new_shard=self._new_shard,
            opened=self._opened,
            effects=self._carry_out,
        )
        #: What carries out the effects of each class, created on first use.
        self._effects: dict[type, Effect] = {}
        self.ask = self._runtime.ask
        self.shards = self._runtime.shards
        self.partition_of = self._runtime.partition_of
        self._stop = host.runtime.slices.every(self.settings.offsets_retention_check_interval_ms, self._expire)

    def expire_now(self) -> None:
        """Begin a round of expiry, which offsets.retention.check.interval.ms begins periodically."""
        self.host.runtime.slices.add(self._expire())

    def close(self) -> None:
        """The broker has stopped."""
        self._stop()
        self._runtime.close()

    def _new_shard(self) -> GroupShard:
        host = self.host
        image = host.metadata.image
        around = Surroundings(
            host.runtime.clock, self.settings, image, host.runtime.random, image.offset, host.authorizer
        )
        return GroupShard(around, self._kinds)

    # Effects

    def _carry_out(self, loaded: Loaded[GroupShard], effect: Any) -> None:
        carry_out = self._effects.get(type(effect))
        if carry_out is None:
            carry_out = self._effects[type(effect)] = self._kinds.effect(type(effect))(self)
        carry_out(loaded, effect)

    def go_on(self, loaded: Loaded[Any], group_id: str, step: Callable[[Group | None], Outcome]) -> None:
        """See ``EffectContext``."""
        if self.shards.is_in_use(loaded):
            self._runtime.run(loaded, group_id, step(loaded.shard.groups.get(group_id)))

    # Metadata changes and time

    def _opened(self, loaded: Loaded[GroupShard]) -> None:
        shard = loaded.shard
        self._slice(loaded, shard.forget_topics_gone(self._topic_id, self._largest))
        self.shards.tell_loaded(loaded.partition, "group", len(shard.groups))

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply a metadata change: shards move with their leaders, the offsets of deleted topics are removed (all state with
        ``__consumer_offsets`` itself), groups are notified of changed topics, and changed broker settings take effect.
        """
        self._runtime.follow(image, delta)
        if any(kind == BROKER_RESOURCE for kind, _ in delta.configs):
            self.settings.refresh(self.host.config)
        changed = {topic.name for topic in (*delta.created_topics, *delta.deleted_topics)}
        changed.update(delta.by_topic)
        shards = [loaded.shard for loaded in self.shards.loaded.values()] if changed else []
        for shard in shards if delta.created_topics else ():
            shard.around.topics_created_at = image.offset
        if shards:
            self.host.runtime.slices.begin(independently([shard.topics_changed(changed) for shard in shards]))
        for topic in delta.deleted_topics:
            if topic.name != CONSUMER_OFFSETS:
                self._forget_topic(topic.name, topic.id)

    def _topic_id(self, name: str) -> bytes | None:
        topic = self.host.metadata.image.topic(name)
        return None if topic is None else topic.id

    def _forget_topic(self, topic: str, topic_id: bytes) -> None:
        for loaded in list(self.shards.loaded.values()):
            if loaded.shard.has_offsets_of(topic):
                self._slice(loaded, loaded.shard.forget_topic(topic, topic_id, self._largest))

    def _slice(self, loaded: Loaded[GroupShard], parts: Iterator[Part]) -> None:
        self.host.runtime.slices.add(self._runtime.append_parts(loaded, parts))

    def _expire(self) -> Steps:
        shards = list(self.shards.loaded.values())
        return independently(
            self._runtime.append_parts(loaded, loaded.shard.expire(self._largest)) for loaded in shards
        )

    @property
    def _largest(self) -> float:
        return self.host.runtime.slices.weight_of_a_step

    # Requests that are more than a step

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, dialect: Dialect
    ) -> Deferred[TxnOffsetCommitResponse]:
        """TxnOffsetCommit of topics that exist, once the group's partition is verified to be part of the transaction.

        ``dialect`` says which errors the client's version knows. Raises KafkaError with INVALID_GROUP_ID too.
        """
        check_group_id(request.group_id)
        loaded = self._runtime.at(request.group_id)

        def commit(refusals: Refusals) -> Deferred[TxnOffsetCommitResponse]:
            for refusal in refusals.values():
                raise KafkaError(client_error(refusal.code))
            return as_wait(self.ask(request.group_id, GroupShard.commit_in_transaction, request))

        producer = (request.producer_id, request.producer_epoch)
        return admit(self.host, request.transactional_id, producer, [loaded.partition], dialect).chain(commit)

    def check_fits(self, group_id: str, names: Sequence[str]) -> None:
        """Raises KafkaError UNKNOWN_SERVER_ERROR for names, of a member's record, that are more than a record may have: the append would
        refuse them, but only after all the work on them. Raises what ``ask`` raises.
        """
        if len(names) > _MANY_NAMES:
            config = self._runtime.at(group_id).partition.log.config
            room = min(config.max_message_bytes, config.segment_bytes)
            if 2 * len(names) > room or sum(map(len, names)) + len(names) > room:
                message = f"The member names more than a record may have: {len(names)} names."
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message)

    def delete_group(self, group_id: str) -> ErrorCode | Deferred[ErrorCode]:
        """DeleteGroups of one group, by one batch: of many offsets it is encoded in slices. More than a batch may have are removed by
        several, and no reader sees a part of them. Raises, or fails with, what ``ask`` raises.
        """
        loaded = self._runtime.at(group_id)
        if loaded.shard.has_many_offsets(group_id):
            return self.host.runtime.slices.run(self._delete_in_slices(loaded, group_id))
        return self.ask(group_id, GroupShard.delete_group, group_id)

    def _delete_in_slices(self, loaded: Loaded[GroupShard], group_id: str) -> Work[ErrorCode]:
        yield self._largest  # begun in a turn of its own
        shard, batch, config = loaded.shard, CoordinatorBatch(), loaded.partition.log.config
        room = min(config.max_message_bytes, config.segment_bytes)
        ending = yield from shard.removal_of(group_id, batch, room, self._largest)
        if not shard.may_delete(group_id):
            return self.ask(group_id, GroupShard.delete_group, group_id)
        if ending is None:
            return (yield from self._delete_in_parts(loaded, group_id))
        failure = self._runtime.append_encoded(loaded, group_id, batch)
        if failure is not None:
            return failure
        shard.removed(group_id, ending)
        return self.ask(group_id, lambda _: ErrorCode.NONE)

    def _delete_in_parts(self, loaded: Loaded[GroupShard], group_id: str) -> Work[ErrorCode]:
        with closing(loaded.shard.forget_group(group_id, self._largest)) as parts:
            failure = yield from self._runtime.append_parts(loaded, parts)
        if failure is not None:
            return failure
        if not loaded.shard.may_delete(group_id):  # it was deleted, and began anew meanwhile
            return self.ask(group_id, lambda _: ErrorCode.NONE)
        return self.ask(group_id, GroupShard.delete_group, group_id)

    def end_transaction(self, index: int, producer_id: int, marker: AppendResult, *, commit: bool) -> None:
        """A transaction marker was appended to a partition of ``__consumer_offsets``."""
        loaded = self.shards.loaded.get(index)
        if loaded is not None:
            groups = loaded.shard.end_transaction(producer_id, commit=commit)
            if marker.committed is not None:
                loaded.uncommitted(groups, marker.last_offset + 1)

    def describe_all(self, described: Callable[[Group], T | None], weight: float) -> Work[list[T]]:
        """The results of ``described`` for all groups that the broker coordinates, without None; as
        ``CoordinatorRuntime.ask_each``. It must not keep its argument.
        """

        def question(shard: GroupShard, group_id: str) -> T | None:
            group = shard.groups.get(group_id)
            return None if group is None else described(group)

        return self._runtime.ask_each(question, weight)
