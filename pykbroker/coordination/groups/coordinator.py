"""The group coordinator: requests of clients, and effects of metadata changes and of time on groups.

All brokers of the process share it, with one shard per partition of ``__consumer_offsets``. A shard decides (``shard.py``),
and the runtime carries its decisions out (``coordination/runtime.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from pykbroker.coordination.appending import shown
from pykbroker.coordination.groups import records
from pykbroker.coordination.groups.classic.joining import Joining
from pykbroker.coordination.groups.consumer.checking import check_request
from pykbroker.coordination.groups.consumer.surroundings import Surroundings
from pykbroker.coordination.groups.group import Group
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.coordination.outcome import Part
from pykbroker.coordination.runtime import CoordinatorRuntime
from pykbroker.coordination.transactions.admitting import Dialect, Refusals, admit
from pykbroker.metadata.features import GROUP_VERSION
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.runtime.slices import independently
from pykbroker.runtime.waits import Deferred, gather
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from pykbroker.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.consumer.regexes import Resolution
    from pykbroker.coordination.groups.matching import TopicPatterns
    from pykbroker.coordination.host import CoordinatingBroker, CoordinationHost
    from pykbroker.coordination.shards import Loaded
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.storage.log.log import AppendResult

log = logging.getLogger(__name__)

T = TypeVar("T")


class GroupCoordinator:
    """See the module. Methods raise KafkaError NOT_COORDINATOR if the broker does not lead the group's partition."""

    def __init__(self, cluster: CoordinationHost) -> None:
        self._cluster = cluster
        self._settings = GroupSettings.from_config(cluster.config)
        self._runtime = CoordinatorRuntime(
            cluster,
            CONSUMER_OFFSETS,
            self._settings.offsets_partitions,
            codec=records,
            new_shard=self._new_shard,
            opened=self._opened,
            effects=self._resolve,
            eager=False,
        )
        self._patterns: TopicPatterns | None = None
        #: Groups whose patterns are matched at present.
        self._resolving: set[str] = set()
        self.shards = self._runtime.shards
        self.partition_of = self._runtime.partition_of
        cluster.metadata.subscribe(self._follow)
        cluster.runtime.slices.every(self._settings.offsets_retention_check_interval_ms, self._expire)

    def _new_shard(self) -> GroupShard:
        cluster = self._cluster
        image = cluster.metadata.image
        return GroupShard(
            Surroundings(
                cluster.runtime.clock,
                self._settings,
                image,
                cluster.runtime.random,
                image.offset,
                cluster.authorizer,
            )
        )

    # Patterns of topics

    def _resolve(self, loaded: Loaded[GroupShard], asked: Resolution) -> None:
        """Match the patterns of a group in a thread; the group goes on with the topics when they are known."""
        if asked.group_id in self._resolving:
            return
        from pykbroker.coordination.groups.matching import TopicPatterns  # noqa: PLC0415 - start-up counts

        image = self._cluster.metadata.image
        known = self._patterns = self._patterns or TopicPatterns(self._cluster.runtime)
        names, version, patterns = frozenset(image.topics), image.offset, sorted(asked.patterns)
        self._resolving.add(asked.group_id)

        def resolved(topics: list[frozenset[str]]) -> None:
            if self.shards.is_in_use(loaded):
                matched = dict(zip(patterns, topics, strict=True))
                self._runtime.run(loaded, asked.group_id, loaded.shard.resolved(asked, matched, version))

        matched = gather([known.topics_like(pattern, names).recover(ValueError, _none) for pattern in patterns])
        matched.settled().map(lambda _: self._resolving.discard(asked.group_id)).or_log("ending a match of patterns")
        matched.map(resolved).or_log("resolving patterns of group %s", asked.group_id)

    # Metadata changes and time

    def _opened(self, loaded: Loaded[GroupShard]) -> None:
        shard = loaded.shard
        self._slice(loaded, shard.forget_topics_gone(self._topic_id, self._largest))
        self.shards.tell_loaded(loaded.partition, "group", len(shard.groups))

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply a metadata change: the offsets of deleted topics are removed (all state with ``__consumer_offsets``
        itself), groups are notified of changed topics, and changed broker settings take effect.
        """
        if any(kind == BROKER_RESOURCE for kind, _ in delta.configs):
            self._settings.refresh(self._cluster.config)
        changed = {topic.name for topic in (*delta.created_topics, *delta.deleted_topics)}
        changed.update(change.topic.name for change in delta.partitions)
        shards = [loaded.shard for loaded in self.shards.loaded.values()] if changed else []
        for shard in shards if delta.created_topics else ():
            shard.around.topics_created_at = image.offset
        if shards:
            self._cluster.runtime.slices.begin(independently([shard.topics_changed(changed) for shard in shards]))
        for topic in delta.deleted_topics:
            if topic.name != CONSUMER_OFFSETS:
                self._forget_topic(topic.name, topic.id)

    def _topic_id(self, name: str) -> bytes | None:
        topic = self._cluster.metadata.image.topic(name)
        return None if topic is None else topic.id

    def _forget_topic(self, topic: str, topic_id: bytes) -> None:
        for loaded in list(self.shards.loaded.values()):
            if loaded.shard.has_offsets_of(topic):
                self._slice(loaded, loaded.shard.forget_topic(topic, topic_id, self._largest))

    def _slice(self, loaded: Loaded[GroupShard], parts: Iterator[Part]) -> None:
        self._cluster.runtime.slices.add(self._runtime.append_parts(loaded, parts))

    def _expire(self) -> Steps:
        shards = list(self.shards.loaded.values())
        return independently(
            self._runtime.append_parts(loaded, loaded.shard.expire(self._largest)) for loaded in shards
        )

    @property
    def _largest(self) -> float:
        return self._cluster.runtime.slices.weight_of_a_step

    # Requests

    def check_consumer_protocol(self) -> None:
        """Raises KafkaError with UNSUPPORTED_VERSION unless groups of the consumer protocol are served."""
        cluster = self._cluster
        enabled = "consumer" in cluster.config["group.coordinator.rebalance.protocols"]
        if not (enabled and cluster.metadata.image.features.get(GROUP_VERSION, 0)):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def consumer_heartbeat(
        self, broker: CoordinatingBroker, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> Deferred[ConsumerGroupHeartbeatResponse]:
        """ConsumerGroupHeartbeat. Raises KafkaError with INVALID_REQUEST or UNSUPPORTED_ASSIGNOR too."""
        self.check_consumer_protocol()
        check_request(request, context.api_version, self._settings.consumer)
        group_id = request.group_id
        return self._runtime.ask(
            broker, group_id, lambda shard, reply: shard.consumer_heartbeat(context, request, reply)
        )

    def join(
        self, broker: CoordinatingBroker, context: RequestContext, request: JoinGroupRequest
    ) -> Deferred[JoinGroupResponse]:
        """JoinGroup. Raises KafkaError with INVALID_GROUP_ID or INVALID_SESSION_TIMEOUT too."""
        _check_group_id(request.group_id)
        settings = self._settings
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        random = self._cluster.runtime.random
        return self._runtime.ask(
            broker, request.group_id, lambda shard, reply: shard.join(Joining(context, request, reply, random))
        )

    def sync(self, broker: CoordinatingBroker, request: SyncGroupRequest) -> Deferred[SyncGroupResponse]:
        """SyncGroup. Raises KafkaError with INVALID_GROUP_ID too."""
        _check_group_id(request.group_id)
        return self._runtime.ask(broker, request.group_id, lambda shard, reply: shard.sync(request, reply))

    def heartbeat(
        self, broker: CoordinatingBroker, request: HeartbeatRequest
    ) -> HeartbeatResponse | Deferred[HeartbeatResponse]:
        """Heartbeat. Raises KafkaError with INVALID_GROUP_ID; raises or fails with every other refusal but
        REBALANCE_IN_PROGRESS.
        """
        _check_group_id(request.group_id)
        return self._runtime.touch(broker, request.group_id, GroupShard.heartbeat, request)

    def leave(self, broker: CoordinatingBroker, request: LeaveGroupRequest) -> Deferred[LeaveGroupResponse]:
        """LeaveGroup in its batched form. Raises KafkaError with INVALID_GROUP_ID too."""
        _check_group_id(request.group_id)
        return self._runtime.ask(broker, request.group_id, lambda shard, reply: shard.leave(request, reply))

    def commit(
        self, broker: CoordinatingBroker, context: RequestContext, request: OffsetCommitRequest
    ) -> Deferred[OffsetCommitResponse]:
        """OffsetCommit of topics that exist, under their names. The empty group id is allowed, as Kafka allows it."""
        return self._runtime.ask(broker, request.group_id, lambda shard, reply: shard.commit(context, request, reply))

    def commit_in_transaction(
        self, broker: CoordinatingBroker, request: TxnOffsetCommitRequest, dialect: Dialect
    ) -> Deferred[TxnOffsetCommitResponse]:
        """TxnOffsetCommit of topics that exist, once the group's partition is verified to be part of the transaction.

        ``dialect`` says which errors the client's version knows.
        """
        _check_group_id(request.group_id)
        loaded = self._runtime.at(broker, request.group_id)

        def commit(refusals: Refusals) -> Deferred[TxnOffsetCommitResponse]:
            for refusal in refusals.values():
                raise KafkaError(shown(refusal.code))
            reply: Deferred[TxnOffsetCommitResponse] = Deferred()
            self._runtime.run(loaded, request.group_id, loaded.shard.commit_in_transaction(request, reply))
            return reply

        producer = (request.producer_id, request.producer_epoch)
        return admit(self._cluster, request.transactional_id, producer, [loaded.partition], dialect).chain(commit)

    def end_transaction(self, index: int, producer_id: int, marker: AppendResult, *, commit: bool) -> None:
        """A transaction marker was appended to a partition of ``__consumer_offsets``."""
        loaded = self.shards.loaded.get(index)
        if loaded is not None:
            groups = loaded.shard.end_transaction(producer_id, commit=commit)
            if marker.committed is not None:
                loaded.uncommitted(groups, marker.last_offset + 1)

    def fetch(
        self, broker: CoordinatingBroker, request: OffsetFetchRequestGroup, *, stable: bool = False
    ) -> OffsetFetchResponseGroup | Deferred[OffsetFetchResponseGroup]:
        """OffsetFetch of one group, topics by name; ``stable`` refuses offsets that open transactions may change. Raises or
        fails with KafkaError UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH too.
        """
        question = GroupShard.fetch_stable if stable else GroupShard.fetch
        return self._runtime.look(broker, request.group_id, question, request)

    def delete_offsets(
        self, broker: CoordinatingBroker, request: OffsetDeleteRequest
    ) -> Deferred[OffsetDeleteResponse]:
        """OffsetDelete. Raises KafkaError with INVALID_GROUP_ID, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP too."""
        _check_group_id(request.group_id)
        return self._runtime.ask(broker, request.group_id, lambda shard, reply: shard.delete_offsets(request, reply))

    def delete_group(self, broker: CoordinatingBroker, group_id: str) -> Deferred[ErrorCode]:
        """DeleteGroups for one group; returns its result."""
        return self._runtime.ask(broker, group_id, lambda shard, reply: shard.delete_group(group_id, reply))

    def describe(
        self, broker: CoordinatingBroker, group_id: str, described: Callable[[Group | None], T]
    ) -> Deferred[T]:
        """The result of ``described`` for a group. It is called at once and must not keep its argument."""
        return self._runtime.read(broker, group_id, lambda shard: described(shard.groups.get(group_id)))

    def describe_all(
        self, broker: CoordinatingBroker, described: Callable[[Group], T | None], weight: float
    ) -> Work[list[T]]:
        """The results of ``described`` for all groups that the broker coordinates, without None; as ``read_each``."""

        def question(shard: GroupShard, group_id: str) -> T | None:
            group = shard.groups.get(group_id)
            return None if group is None else described(group)

        return self._runtime.read_each(broker, lambda shard: shard.groups, question, weight)


def _none(error: ValueError) -> frozenset[str]:
    """No topic matches a pattern that does not compile, which an older log may hold."""
    log.warning("A subscribed topic regex is ignored: %s", error)
    return frozenset()


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
