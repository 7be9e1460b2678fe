"""The group coordinator's shell: it finds the shard of a group, appends, replays, answers, and keeps the time.

There is one for all brokers of the process, with one shard per partition of ``__consumer_offsets`` (``shards.py``).
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.coordination.groups.classic.joining import Joining
from pykbroker.coordination.groups.consumer.checking import check_request
from pykbroker.coordination.groups.consumer.surroundings import Surroundings
from pykbroker.coordination.groups.loading import Loading
from pykbroker.coordination.groups.outcome import Outcome, Record
from pykbroker.coordination.groups.placement import partition_for
from pykbroker.coordination.groups.records import encode
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.groups.shard import Group, GroupShard
from pykbroker.coordination.shards import Loaded, Shards, shown
from pykbroker.coordination.transactions.admitting import Dialect, Refusals, admit
from pykbroker.metadata.features import GROUP_VERSION
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.group_metadata import GroupMetadataKey
from pykbroker.wire.internal.offset_commit import OffsetCommitKey
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
    from pykbroker.coordination.groups.forgetting import Part
    from pykbroker.coordination.host import CoordinationHost, Node
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Steps
    from pykbroker.runtime.timers import Timer

log = logging.getLogger(__name__)

T = TypeVar("T")

#: What a group weighs whose time has come (``slices.py``).
_TICK_WEIGHT = 10

_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
#: How a part may end for the next one to be begun; else the log takes nothing at all.
_GOES_ON = (None, *map(shown, _TOO_LARGE))


class _Loaded(Loaded[GroupShard]):
    """A shard with its partition and the timers of its groups."""

    __slots__ = ("alarms",)

    def __init__(self, partition: Partition, shard: GroupShard) -> None:
        super().__init__(partition, shard)
        #: Group id to the moment it is to be woken at, and the timer that will.
        self.alarms: dict[str, tuple[float, Timer]] = {}


class GroupCoordinator:
    """See the module. Methods raise KafkaError with NOT_COORDINATOR when the broker does not lead the group."""

    def __init__(self, cluster: CoordinationHost) -> None:
        self._cluster = cluster
        self._settings = GroupSettings.from_config(cluster.config)
        self.shards: Shards[_Loaded] = Shards(
            cluster,
            CONSUMER_OFFSETS,
            begin=self._begin_load,
            complete=lambda loading: _Loaded(loading.partition, loading.shard),
            opened=self._opened,
            dropped=_unload,
            eager=False,
        )
        #: Groups whose time has come, and whether they are being looked after.
        self._due: deque[tuple[_Loaded, str]] = deque()
        self._ticking = False
        cluster.metadata.subscribe(self._follow)
        cluster.runtime.slices.every(self._settings.offsets_retention_check_interval_ms, self._expire)

    # Where groups live

    def partition_of(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that a group lives in."""
        topic = self._cluster.metadata.image.topic(CONSUMER_OFFSETS)
        count = self._settings.offsets_partitions if topic is None else len(topic.partitions)
        return partition_for(group_id, count)

    def _shard_of(self, broker: Node, group_id: str) -> _Loaded:
        """The shard of a group, in which all has happened that is due by now."""
        loaded = self.shards.at(broker, self.partition_of(group_id))
        alarm = loaded.alarms.get(group_id)
        if alarm is not None and alarm[0] <= self._cluster.runtime.clock.monotonic():
            self._tick(loaded, group_id)
        return loaded

    def _begin_load(self, partition: Partition) -> Loading:
        cluster = self._cluster
        image = cluster.metadata.image
        around = Surroundings(cluster.runtime.clock, self._settings, image, cluster.runtime.random, image.offset)
        return Loading(partition, GroupShard(around))

    def _opened(self, loaded: _Loaded) -> None:
        shard, partition = loaded.shard, loaded.partition
        for group in list(shard.groups.values()):
            self._run(loaded, group.group_id, group.loaded())
        self._cluster.runtime.slices.add(self._forget(loaded, shard.forget_topics_gone(self._topic_id, self._largest)))
        self.shards.tell_loaded(partition, "group", len(shard.groups))

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A deleted topic takes its committed offsets along; ``__consumer_offsets`` itself takes everything.

        Groups are told of topics that changed, and settings of the broker are taken over.
        """
        if any(kind == BROKER_RESOURCE for kind, _ in delta.configs):
            self._settings.refresh(self._cluster.config)
        changed = {topic.name for topic in (*delta.created_topics, *delta.deleted_topics)}
        changed.update(change.topic.name for change in delta.partitions)
        for shard in [loaded.shard for loaded in self.shards.loaded.values()] if changed else ():
            if delta.created_topics:
                shard.around.topics_created_at = image.offset
            shard.topics_changed(changed)
        self.shards.follow(delta)
        for topic in delta.deleted_topics:
            if topic.name != CONSUMER_OFFSETS:
                self._forget_topic(topic.name, topic.id)

    def _topic_id(self, name: str) -> bytes | None:
        topic = self._cluster.metadata.image.topic(name)
        return None if topic is None else topic.id

    def _forget_topic(self, topic: str, topic_id: bytes) -> None:
        for loaded in list(self.shards.loaded.values()):
            self._cluster.runtime.slices.add(
                self._forget(loaded, loaded.shard.forget_topic(topic, topic_id, self._largest))
            )

    # Requests

    def check_consumer_protocol(self) -> None:
        """Raises KafkaError with UNSUPPORTED_VERSION unless groups of the consumer protocol are served."""
        cluster = self._cluster
        enabled = "consumer" in cluster.config["group.coordinator.rebalance.protocols"]
        if not (enabled and cluster.metadata.image.features.get(GROUP_VERSION, 0)):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def consumer_heartbeat(
        self, broker: Node, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> Deferred[ConsumerGroupHeartbeatResponse]:
        """ConsumerGroupHeartbeat. Raises KafkaError with INVALID_REQUEST or UNSUPPORTED_ASSIGNOR too."""
        self.check_consumer_protocol()
        check_request(request, context.api_version, self._settings.consumer)
        group_id = request.group_id
        return self._ask(broker, group_id, lambda shard, reply: shard.consumer_heartbeat(context, request, reply))

    def join(self, broker: Node, context: RequestContext, request: JoinGroupRequest) -> Deferred[JoinGroupResponse]:
        """JoinGroup. Raises KafkaError with INVALID_GROUP_ID or INVALID_SESSION_TIMEOUT too."""
        _check_group_id(request.group_id)
        settings = self._settings
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        loaded = self._shard_of(broker, request.group_id)
        reply: Deferred[JoinGroupResponse] = Deferred()
        joining = Joining(context, request, reply, self._cluster.runtime.random)
        self._run(loaded, request.group_id, loaded.shard.join(joining))
        return reply

    def sync(self, broker: Node, request: SyncGroupRequest) -> Deferred[SyncGroupResponse]:
        """SyncGroup. Raises KafkaError with INVALID_GROUP_ID too."""
        _check_group_id(request.group_id)
        return self._ask(broker, request.group_id, lambda shard, reply: shard.sync(request, reply))

    def heartbeat(self, broker: Node, request: HeartbeatRequest) -> HeartbeatResponse:
        """Heartbeat. Raises KafkaError for every refusal but REBALANCE_IN_PROGRESS."""
        _check_group_id(request.group_id)
        loaded = self._shard_of(broker, request.group_id)
        response = loaded.shard.heartbeat(request)
        self._arm(loaded, request.group_id)
        return response

    def leave(self, broker: Node, request: LeaveGroupRequest) -> Deferred[LeaveGroupResponse]:
        """LeaveGroup in its batched form. Raises KafkaError with INVALID_GROUP_ID too."""
        _check_group_id(request.group_id)
        return self._ask(broker, request.group_id, lambda shard, reply: shard.leave(request, reply))

    def commit(
        self, broker: Node, context: RequestContext, request: OffsetCommitRequest
    ) -> Deferred[OffsetCommitResponse]:
        """OffsetCommit of topics that exist, under their names. The empty group id is allowed, as Kafka allows it."""
        return self._ask(broker, request.group_id, lambda shard, reply: shard.commit(context, request, reply))

    def commit_in_transaction(
        self, broker: Node, request: TxnOffsetCommitRequest, dialect: Dialect
    ) -> Deferred[TxnOffsetCommitResponse]:
        """TxnOffsetCommit of topics that exist, once the group's partition is known to be part of the transaction.

        ``dialect`` says what the client's version understands of that.
        """
        _check_group_id(request.group_id)
        loaded = self._shard_of(broker, request.group_id)

        def commit(refusals: Refusals) -> Deferred[TxnOffsetCommitResponse]:
            for refusal in refusals.values():
                raise KafkaError(shown(refusal.code))
            reply: Deferred[TxnOffsetCommitResponse] = Deferred()
            self._run(loaded, request.group_id, loaded.shard.commit_in_transaction(request, reply))
            return reply

        producer = (request.producer_id, request.producer_epoch)
        return admit(self._cluster, request.transactional_id, producer, [loaded.partition], dialect).chain(commit)

    def end_transaction(self, index: int, producer_id: int, *, commit: bool) -> None:
        """The marker of a transaction was appended to a partition of ``__consumer_offsets``."""
        loaded = self.shards.loaded.get(index)
        if loaded is not None:
            loaded.shard.end_transaction(producer_id, commit=commit)

    def fetch(
        self, broker: Node, request: OffsetFetchRequestGroup, *, stable: bool = False
    ) -> OffsetFetchResponseGroup:
        """OffsetFetch of one group, topics under their names; ``stable`` refuses what open transactions may change."""
        return self._shard_of(broker, request.group_id).shard.fetch(request, stable=stable)

    def delete_offsets(self, broker: Node, request: OffsetDeleteRequest) -> Deferred[OffsetDeleteResponse]:
        """OffsetDelete. Raises KafkaError with INVALID_GROUP_ID, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP too."""
        _check_group_id(request.group_id)
        return self._ask(broker, request.group_id, lambda shard, reply: shard.delete_offsets(request, reply))

    def delete_group(self, broker: Node, group_id: str) -> Deferred[ErrorCode]:
        """DeleteGroups, one group: how it went."""
        return self._ask(broker, group_id, lambda shard, reply: shard.delete_group(group_id, reply))

    def group(self, broker: Node, group_id: str) -> Group | None:
        """A group, to be described."""
        return self._shard_of(broker, group_id).shard.groups.get(group_id)

    def groups(self, broker: Node) -> Iterable[Group]:
        """All groups that the broker coordinates."""
        for loaded in self.shards.led_by(broker):
            yield from loaded.shard.groups.values()

    def _ask(self, broker: Node, group_id: str, step: Callable[[GroupShard, Deferred[T]], Outcome]) -> Deferred[T]:
        loaded = self._shard_of(broker, group_id)
        reply: Deferred[T] = Deferred()
        self._run(loaded, group_id, step(loaded.shard, reply))
        return reply

    # Outcomes

    def _run(self, loaded: _Loaded, group_id: str | None, outcome: Outcome) -> None:
        """Carry out an Outcome and what follows from it; ``group_id`` is the group whose deadlines it may have moved.

        The replies go out last of all, when the state has settled: whoever gets one may ask something new at once.
        """
        replies: list[tuple[Deferred[Any], Any]] = []
        appended = False
        step: Outcome | None = outcome
        while step is not None:
            failure = self._append(loaded, step)
            appended |= failure is None and bool(step.records)
            if failure is None or step.otherwise is not None:
                replies += step.replies
            else:
                replies += ((waiting, KafkaError(failure)) for waiting, _ in step.replies)
            step = _follow_up(step, failure)
        if group_id is not None:
            self._arm(loaded, group_id)
        committed = loaded.partition.committed() if appended else None
        if committed is None:
            _send(replies)
        else:
            sent = committed.map(lambda _: _send(replies))
            sent.recover(Exception, partial(_send_failure, replies)).or_log("answering members of a group")

    def _append(self, loaded: _Loaded, outcome: Outcome) -> ErrorCode | None:
        """Append and replay. Returns the code that clients are to see when it fails."""
        if not outcome.records:
            return None
        if not self.shards.is_in_use(loaded):
            return ErrorCode.NOT_COORDINATOR  # the partition moved while this waited
        if not outcome.atomic:
            return self._append_each(loaded, outcome.records)
        try:
            encoded = [encode(record) for record in outcome.records]
            loaded.partition.append_internal(encoded, self._cluster.runtime.clock.now_ms(), outcome.producer)
        except KafkaError as error:
            log.warning("Group records could not be appended to %r: %s", loaded.partition, error)
            return shown(error.code)
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        for record in outcome.records:
            loaded.shard.replay(record._replace(producer_id=producer_id))
        return None

    def _append_each(self, loaded: _Loaded, records: list[Record]) -> ErrorCode | None:
        """Append and replay records of which each stands for itself, in as many batches as they need.

        One that is too large for any batch is passed over, and with it what follows of its group, as is the record that
        ends it; the other groups go on. Returns the first failure.
        """
        failure: ErrorCode | None = None
        passed_over: set[str] = set()
        encoded = [encode(record) for record in records]
        for some in loaded.partition.batches_that_fit(encoded):
            if passed_over.intersection(map(_group_of, records[some])):
                kept = [each for each in records[some] if _group_of(each) not in passed_over]
                batch = [encode(record) for record in kept]
            else:
                kept, batch = records[some], encoded[some]
            if not kept:
                continue
            try:
                loaded.partition.append_internal(batch, self._cluster.runtime.clock.now_ms())
            except KafkaError as error:
                log.warning("Group records could not be appended to %r: %s", loaded.partition, error)
                failure = failure or shown(error.code)
                if error.code not in _TOO_LARGE:
                    return failure
                passed_over.update(map(_group_of, kept))
            else:
                for record in kept:
                    loaded.shard.replay(record)
        return failure

    # Time

    def _arm(self, loaded: _Loaded, group_id: str) -> None:
        """See to it that a group is woken no later than it wants to be."""
        group = loaded.shard.groups.get(group_id)
        wake_at = math.inf if group is None else group.wake_at
        alarm = loaded.alarms.get(group_id)
        if alarm is not None:
            if wake_at == alarm[0]:
                return
            loaded.alarms.pop(group_id)[1].cancel()
        if wake_at < math.inf:
            delay_ms = max(wake_at - self._cluster.runtime.clock.monotonic(), 0) * 1000
            timer = self._cluster.runtime.timers.after(delay_ms, partial(self._wake, loaded, group_id))
            loaded.alarms[group_id] = (wake_at, timer)

    def _wake(self, loaded: _Loaded, group_id: str) -> None:
        """The time of a group has come. Thousands may come together, so each waits for its turn; whoever asks for a group
        before that (``_shard_of``) brings it forward.
        """
        self._due.append((loaded, group_id))
        if not self._ticking:
            self._tick_some()

    def _tick_some(self) -> None:
        self._ticking = bool(self._due)
        if self._ticking:
            self._cluster.runtime.slices.add(self._tick_due(), over=self._tick_some)

    def _tick_due(self) -> Steps:
        while self._due:
            self._tick(*self._due.popleft())
            yield _TICK_WEIGHT

    def _tick(self, loaded: _Loaded, group_id: str) -> None:
        if self.shards.is_in_use(loaded):
            alarm = loaded.alarms.pop(group_id, None)
            if alarm is not None:
                alarm[1].cancel()
            self._run(loaded, group_id, loaded.shard.tick(group_id))

    def _expire(self) -> Steps:
        for loaded in list(self.shards.loaded.values()):
            yield from self._forget(loaded, loaded.shard.expire(self._largest))

    @property
    def _largest(self) -> float:
        return self._cluster.runtime.slices.weight_of_a_step

    def _forget(self, loaded: _Loaded, parts: Iterator[Part]) -> Steps:
        """Carry out one part after the other, while others do what they like in between."""
        while self.shards.is_in_use(loaded):
            part = next(parts, None)
            if part is None or self._append(loaded, Outcome(part.records, atomic=False)) not in _GOES_ON:
                return
            yield part.weight


def _unload(loaded: _Loaded) -> None:
    """Everybody who waits in a shard that goes is told to look for the coordinator again."""
    for group in list(loaded.shard.groups.values()):
        for waiting, response in group.unload().replies:
            waiting.complete(response)
    for _, timer in loaded.alarms.values():
        timer.cancel()


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


def _group_of(record: Record) -> str:
    key = record.key
    return str(key.group if isinstance(key, GroupMetadataKey | OffsetCommitKey) else key.group_id)


def _follow_up(outcome: Outcome, failure: ErrorCode | None) -> Outcome | None:
    if failure is not None:
        return None if outcome.otherwise is None else outcome.otherwise(failure)
    return None if outcome.then is None else outcome.then()


def _send(replies: list[tuple[Deferred[Any], Any]]) -> None:
    for waiting, response in replies:
        if isinstance(response, KafkaError):
            waiting.fail(response)
        else:
            waiting.complete(response)


def _send_failure(replies: list[tuple[Deferred[Any], Any]], error: Exception) -> None:
    """What was answered for may be undone, since the disk did not take it: everyone is to ask who coordinates."""
    log.warning("Group records could not be committed: %s", error)
    _send([(waiting, KafkaError(ErrorCode.NOT_COORDINATOR)) for waiting, _ in replies])
