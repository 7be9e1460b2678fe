"""Fetch (key 1), versions 4 to 18.

Sessions (KIP-227), long poll with min bytes and max wait, isolation levels, topic ids from version 13 (KIP-516), the
current leader in errors from version 16 (KIP-951). At least one whole batch is returned whatever the size limits say
(KIP-74), and only whole batches are. Divergence by last_fetched_epoch from version 12 (KIP-595).

From version 11 on any replica answers consumers, not the leader alone, and with the rack-aware replica selector the
leader sends them to a replica in their own rack (KIP-392).

Left out: fetches by followers (replicas of one process share the store), and down-conversion, which Apache Kafka 4
dropped too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from pykbroker.partitions.fetch_sessions import FetchItem, SessionWaiter, requested
from pykbroker.partitions.replica_selector import replica_to_read
from pykbroker.runtime.waits import Deferred
from pykbroker.security.operations import CLUSTER_ACTION, READ
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, TOPIC
from pykbroker.storage.index.index import Reader, WouldBlockError, read_blocking, read_cached
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.frames import CUT_SIZE
from pykbroker.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.fetch_sessions import FetchSession
    from pykbroker.partitions.partition import Partition
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.storage.log.reading import ReadPlan
    from pykbroker.wire.messages.fetch import FetchRequest
    from pykbroker.wire.primitives import Buffer

#: While clients leave this much of their answers unsent, in bytes, everybody's answers are small ones; Apache Kafka need
#: not care, for it does not read what it sends.
_UNSENT_BUDGET = 128 * 1024 * 1024
_SMALL_ANSWER = 256 * 1024
#: So many bytes of an answer are read at once; what is more stays in its files until the client takes it.
_INLINE_BYTES = 1024 * 1024
_READ_COMMITTED = 1
_CONSUMER = -1
_FROM_ANY_REPLICA_SINCE = 11
_LEADER_SINCE = 16
#: The errors that tell who leads.
_TELL_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle(broker: Broker, ctx: RequestContext, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
    version = ctx.api_version
    if request.isolation_level not in (0, _READ_COMMITTED):
        return failed(request, version, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))  # as Apache Kafka answers it
    try:
        session = broker.fetch_sessions.begin(request, version)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    return _Fetch(broker, ctx, request, session).run()


def logs_of(broker: Broker, version: int, request: FetchRequest) -> Iterator[Partition | None]:
    """What is opened before ``handle`` is called; what a session knows already was opened when it came to know it."""
    cluster = broker.cluster
    for topic, asked in requested(request, version):
        if isinstance(topic, bytes):
            yield cluster.partition_by_id(topic, asked.partition)
        else:
            yield cluster.partition(topic, asked.partition)


def failed(request: FetchRequest, version: int, error: KafkaError) -> FetchResponse:
    """The same error for all; versions before topic ids say it of each partition."""
    response = FetchResponse(error_code=error.code if version >= 7 else ErrorCode.NONE)
    if version < 13:
        response.responses = [
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[_error_data(asked.partition, error.code, known=False) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    return response


class _Fetch(SessionWaiter):
    """One request on its way: looked at once at least, and again when woken, until it has enough or its time is up."""

    def __init__(
        self, broker: Broker, ctx: RequestContext, request: FetchRequest, session: FetchSession | None
    ) -> None:
        self.broker = broker
        self.version = ctx.api_version
        self.listener = ctx.listener
        self.connection = ctx.connection
        self.ctx = ctx
        self.authorizer = broker.cluster.authorizer
        self.request = request
        self.session = session
        # A session that this very request opened answers in full; later ones only with what changed.
        self.incremental = session is not None and request.session_id == session.id
        self.items = None if session is not None else [FetchItem(*named) for named in requested(request, self.version)]
        self.committed = request.isolation_level == _READ_COMMITTED
        self.max_bytes = min(request.max_bytes, broker.fetch_max_bytes)
        self.leader_only = self.version < _FROM_ANY_REPLICA_SINCE and request.replica_id == _CONSUMER
        self.rack = request.rack_id if broker.cluster.reads_by_rack else ""
        self.new_bytes = 0
        self.expired = False
        self.deferred: Deferred[FetchResponse] | None = None

    # ---- looking ---------------------------------------------------------------------------------------------------

    def run(self) -> FetchResponse | Deferred[FetchResponse]:
        attempt = self._look()
        if attempt.cold:
            return attempt.finish_cold()
        if attempt.enough() or self.request.max_wait_ms <= 0:
            return attempt.response()
        return self._wait(attempt)

    def _look(self) -> _Attempt:
        attempt = _Attempt(self)
        items: Iterable[FetchItem]
        if self.session is None:
            items = self.items or ()
        else:
            items = list((self.session.ready if self.incremental else self.session.items).values())
        for item in items:
            attempt.look_at(item)
        return attempt

    # ---- waiting ---------------------------------------------------------------------------------------------------

    def _wait(self, attempt: _Attempt) -> Deferred[FetchResponse]:
        deferred: Deferred[FetchResponse] = Deferred()
        deferred.when_abandoned = self._stop_waiting
        self.deferred = deferred
        self.needed, self.new_bytes = attempt.needed, attempt.counted
        if self.session is not None:
            self.session.waiter = self
        else:
            for item in self.items or ():
                if item.partition is not None:
                    item.partition.watchers[self] = None
        self.timer = self.broker.cluster.runtime.client_timers.after(self.request.max_wait_ms, self._expire)
        return deferred

    def appended(self, partition: Partition, size: int) -> None:
        self.new_bytes += size
        if self.new_bytes >= self.needed:
            self.broker.cluster.runtime.wake_queue.add(self._retry)

    def changed(self, partition: Partition) -> None:
        self.broker.cluster.runtime.wake_queue.add(self._retry)

    def session_closed(self) -> None:
        self.expired = True
        self.broker.cluster.runtime.wake_queue.add(self._retry)

    def follow(self, item: FetchItem, partition: Partition) -> None:
        """``item`` names ``partition`` from now on."""
        if self.session is not None:
            self.session.watch(item, partition)
            return
        item.partition = partition
        if self.deferred is not None:
            partition.watchers[self] = None

    def may_read(self, authorizer: Authorizer, topic: str | bytes) -> bool:
        """Whether a topic's records are for the asker. Followers, who are brokers, read all or nothing."""
        state = self.request.replica_state
        if self.request.replica_id >= 0 or (state is not None and state.replica_id >= 0):
            return authorizer.may(self.ctx, CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
        ctx = self.ctx
        if (ctx.principal, ctx.client_host, READ, TOPIC, topic) in authorizer.granted:
            return True
        if isinstance(topic, str):
            return authorizer.may(ctx, READ, TOPIC, topic)
        name = self.broker.cluster.topic_name(topic)
        if name is None:
            return True
        allowed = authorizer.may(ctx, READ, TOPIC, name)
        if allowed:
            authorizer.grant_by_id(ctx, READ, TOPIC, topic, name)
        return allowed

    def _expire(self) -> None:
        self.expired = True
        self._retry()

    def _retry(self) -> None:
        deferred = self.deferred
        if deferred is None:
            return
        attempt = self._look()
        if not (attempt.enough() or self.expired):
            self.new_bytes = attempt.counted
            return
        self._stop_waiting()
        if attempt.cold:
            attempt.finish_cold().pass_to(deferred)
        else:
            deferred.complete(attempt.response())

    def _stop_waiting(self) -> None:
        self.deferred = None
        self.timer.cancel()
        if self.session is not None:
            if self.session.waiter is self:
                self.session.waiter = None
            return
        for item in self.items or ():
            if item.partition is not None:
                item.partition.watchers.pop(self, None)


class _Attempt:
    """What one look over the partitions found."""

    def __init__(self, fetch: _Fetch) -> None:
        self.fetch = fetch
        self.size = 0
        self.counted = 0  # of min_bytes
        room = max(_SMALL_ANSWER, _UNSENT_BUDGET - fetch.broker.cluster.runtime.unsent_bytes)
        self.left = min(fetch.max_bytes, room)
        self.needed = min(fetch.request.min_bytes, self.left)
        self.urgent = False  # an error or a divergence is answered at once
        self.found: list[tuple[FetchItem, PartitionData]] = []
        self.cold: list[_Reading] = []
        self.leaders: set[int] = set()

    def enough(self) -> bool:
        fetch = self.fetch
        return self.urgent or self.counted >= self.needed or fetch.broker.leaving or not self.found_any_to_wait_for()

    def found_any_to_wait_for(self) -> bool:
        """A fetch of no partitions at all is answered at once."""
        session = self.fetch.session
        return bool(session.items) if session is not None else bool(self.fetch.items)

    def look_at(self, item: FetchItem) -> None:
        fetch = self.fetch
        if fetch.authorizer is not None and not fetch.may_read(fetch.authorizer, item.topic):
            self.urgent = True
            self.found.append((item, _error_data(item.index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, known=False)))
            return
        partition = self._resolve(item)
        if isinstance(partition, ErrorCode):
            self.urgent = True
            self.found.append((item, _error_data(item.index, partition, known=False)))
            return
        try:
            partition.check_served_by(fetch.broker.node_id, item.current_leader_epoch, leader_only=fetch.leader_only)
            if item.last_fetched_epoch >= 0 and self._diverged(item, partition):
                return
            if fetch.rack and self._sent_to_its_rack(item, partition):
                return
            self._read(item, partition)
        except KafkaError as error:
            self._fail(item, partition, error.code)

    def _resolve(self, item: FetchItem) -> Partition | ErrorCode:
        partition = item.partition
        if partition is not None and not partition.deleted:
            return partition
        cluster = self.fetch.broker.cluster
        if isinstance(item.topic, bytes):
            partition = cluster.partition_by_id(item.topic, item.index)
            if partition is None:
                return (
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    if cluster.topic_name(item.topic) is not None
                    else ErrorCode.UNKNOWN_TOPIC_ID
                )
        else:
            partition = cluster.partition(item.topic, item.index)
            if partition is None:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.fetch.follow(item, partition)
        return partition

    def _read(self, item: FetchItem, partition: Partition) -> None:
        fetch = self.fetch
        upper = partition.last_stable_offset if fetch.committed else partition.high_watermark
        limit = min(item.max_bytes, self.left)
        plan = partition.log.plan_read(item.fetch_offset, limit, upper_offset=upper, at_least_one=not self.size)
        data = PartitionData(
            partition_index=item.index,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=partition.log_start_offset,
            aborted_transactions=None,
            records=b"",
        )
        if fetch.committed:
            data.aborted_transactions = []
        if plan is not None:
            size = self._carry_out(_Reading(item, partition, data, plan, committed=fetch.committed), limit)
            self.size += size
            self.left -= size
            self.counted += size
            if self.counted < self.needed:
                self._count_more(plan, limit - size)
        self.found.append((item, data))

    def _count_more(self, plan: ReadPlan, cut: int) -> None:
        """As Kafka counts: what a limit cut off counts up to the limit, for no wait would bring it; and who reads in an
        older segment does not wait, for nothing is added there.
        """
        if plan.ends_in_older_segment:
            self.urgent = True
        elif cut > 0 and plan.limited:
            self.counted += cut

    def _carry_out(self, reading: _Reading, limit: int) -> int:
        """How many bytes it brings; where the disk must be waited for, how many it may bring, later."""
        inline = max(_INLINE_BYTES - self.size, CUT_SIZE)
        brought = reading.now(inline)
        if brought is not None:
            return brought
        self.cold.append(reading)
        return limit

    def _diverged(self, item: FetchItem, partition: Partition) -> bool:
        """Whether the client's log and ours part before its fetch offset; then the answer says where."""
        epoch, end = partition.log.end_offset_for_epoch(item.last_fetched_epoch)
        if epoch < 0 or end < 0 or item.fetch_offset < partition.log_start_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch >= item.last_fetched_epoch and end >= item.fetch_offset:
            return False
        data = _error_data(item.index, ErrorCode.NONE)
        data.high_watermark = partition.high_watermark
        data.last_stable_offset = partition.last_stable_offset
        data.log_start_offset = partition.log_start_offset
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end)
        self.urgent = True
        self.found.append((item, data))
        return True

    def _sent_to_its_rack(self, item: FetchItem, partition: Partition) -> bool:
        """Whether a replica in the client's rack is to be read instead; then the answer says which."""
        broker = self.fetch.broker
        if partition.leader != broker.node_id:
            return False
        preferred = replica_to_read(broker.cluster.metadata.image.brokers, partition, self.fetch.rack)
        if preferred == partition.leader:
            return False
        data = _error_data(item.index, ErrorCode.NONE)
        data.high_watermark = partition.high_watermark
        data.last_stable_offset = partition.last_stable_offset
        data.log_start_offset = partition.log_start_offset
        data.preferred_read_replica = preferred
        self.urgent = True
        self.found.append((item, data))
        return True

    def _fail(self, item: FetchItem, partition: Partition, code: int) -> None:
        data = _error_data(item.index, code)
        if code in _TELL_LEADER and self.fetch.version >= _LEADER_SINCE:
            data.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
            self.leaders.add(partition.leader)
        self.urgent = True
        self.found.append((item, data))

    # ---- answering ---------------------------------------------------------------------------------------------------

    def finish_cold(self) -> Deferred[FetchResponse]:
        """Read what is not in the page cache in a thread, then answer."""

        def read_all() -> None:
            for reading in self.cold:
                reading.wait()

        return self.fetch.broker.cluster.runtime.offload_read(read_all).map(lambda _: self.response())

    def response(self) -> FetchResponse:
        fetch = self.fetch
        session = fetch.session
        response = FetchResponse(session_id=session.id if session is not None else 0)
        topics: dict[str | bytes, FetchableTopicResponse] = {}
        for item, data in self.found:
            if session is not None and not self._to_send(session, item, data):
                continue
            topic = topics.get(item.topic)
            if topic is None:
                topic = topics[item.topic] = (
                    FetchableTopicResponse(topic_id=item.topic)
                    if isinstance(item.topic, bytes)
                    else FetchableTopicResponse(topic=item.topic)
                )
                response.responses.append(topic)
            topic.partitions.append(data)
        if self.leaders:
            response.node_endpoints = [
                NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
                for node in fetch.broker.cluster.nodes(fetch.listener)
                if node.node_id in self.leaders
            ]
        return response

    def _to_send(self, session: FetchSession, item: FetchItem, data: PartitionData) -> bool:
        """Whether a session's answer names this partition, and what the session remembers of it."""
        has_news = (
            bool(data.records)
            or data.error_code != 0
            or data.diverging_epoch is not None
            or data.preferred_read_replica >= 0
        )
        changed = data.high_watermark != item.sent_high_watermark or data.log_start_offset != item.sent_log_start_offset
        item.sent_high_watermark = data.high_watermark if data.error_code == 0 else -1
        item.sent_log_start_offset = data.log_start_offset if data.error_code == 0 else -1
        if has_news:
            session.ready.pop(item.key, None)  # to the end of the order, so that the others have their turn
            session.ready[item.key] = item
        elif item.partition is not None and item.fetch_offset == item.partition.log_end_offset:
            session.ready.pop(item.key, None)  # nothing there until an append or a change brings it back
        return has_news or changed or not self.fetch.incremental


class _Reading:
    """What one partition brings: its batches and, for a reader of committed data, the aborted transactions in them."""

    __slots__ = ("committed", "data", "inline", "item", "partition", "plan")

    def __init__(
        self, item: FetchItem, partition: Partition, data: PartitionData, plan: ReadPlan, *, committed: bool
    ) -> None:
        self.item = item
        self.partition = partition
        self.data = data
        self.plan = plan
        self.committed = committed
        self.inline = 0

    def now(self, inline: int) -> int | None:
        """Read what memory holds: how many bytes, or None where the disk must be waited for.

        More than ``inline`` bytes are left in their file, for the connection to read as the client takes them.
        """
        self.inline = inline
        records = self.plan.read_now(inline)
        if records is None:
            return None
        self.data.records = cast("Buffer", records)
        try:
            self._find_aborted(read_cached)
        except WouldBlockError:
            self.data.records = b""
            return None
        return len(records)

    def wait(self) -> None:
        """Read, in a thread that may wait for the disk."""
        try:
            self.data.records = cast("Buffer", self.plan.read(self.inline))
            self._find_aborted(read_blocking)
        except KafkaError as error:
            self.data.error_code, self.data.records = error.code, b""

    def _find_aborted(self, read: Reader) -> None:
        if self.committed:
            txns = self.partition.log.aborted_transactions(self.item.fetch_offset, self.plan.end_offset, read)
            self.data.aborted_transactions = [
                AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in txns
            ]


def _error_data(index: int, code: int, *, known: bool = True) -> PartitionData:
    """An answer without records. Of a partition that nobody knows Kafka names no aborted transactions, else null."""
    return PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None if known else [],
        records=b"",
    )
