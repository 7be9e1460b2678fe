"""ShareFetch (key 78), versions 1 to 2: members of a share group acquire records, and acknowledge earlier ones (KIP-932).

A request belongs to the member's share session: epoch 0 begins it, -1 ends it. Records are acquired in whole batches, as far as
``max_records`` goes, or from version 2 on strictly (KIP-1206). While fewer than ``min_bytes`` may be acquired, it waits for ``max_wait_ms``,
and acquires nothing. An answer of a session names partitions with records, errors, or results of acknowledgements; the first one names all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from pykbroker.coordination.groups.share.requests import check_served
from pykbroker.handlers.in_slices import WEIGHT_OF_LITTLE, in_slices, is_small
from pykbroker.handlers.leader_endpoints import leader_endpoints
from pykbroker.handlers.sharing.acknowledging import acknowledged, readable
from pykbroker.runtime.waits import Deferred, as_wait, gather
from pykbroker.share_partitions.leading import Delivery, LedSharePartition, Wanted
from pykbroker.share_partitions.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    ShareMemberKey,
    ShareSession,
)
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.runtime.timers import Timer
    from pykbroker.security.context import RequestContext
    from pykbroker.share_partitions.sessions import TopicIdPartition
    from pykbroker.wire.messages.share_fetch import ShareFetchRequest

_RECORD_LIMIT = 1
#: The weight of looking at a partition, and of reading its name in a request.
_WEIGHT = 4
_CHECKING = 1
#: Partitions of a request that is begun in one turn.
_AT_ONCE = 500
#: Partitions of an answer between two looks at the turn.
_ANSWERED_AT_ONCE = 100


def handle(
    broker: Broker, ctx: RequestContext, request: ShareFetchRequest
) -> ShareFetchResponse | Deferred[ShareFetchResponse]:
    check_served(broker)
    begun = _begin(broker, ctx, request)
    if not is_small(request.topics, _AT_ONCE) or not is_small(request.forgotten_topics_data, _AT_ONCE):
        return in_slices(broker, ctx, begun)
    while True:  # a few are begun at once: the connection goes on, and the end of the connection ends the wait
        try:
            next(begun)
        except StopIteration as done:
            return cast("Deferred[ShareFetchResponse]", done.value)


def _begin(broker: Broker, ctx: RequestContext, request: ShareFetchRequest) -> Work[ShareFetchResponse]:
    """Check the request and begin it; raises KafkaError INVALID_REQUEST and what ``ShareSessions`` raise."""
    acknowledges = False
    for topic in request.topics:
        for requested in topic.partitions:
            acknowledges = acknowledges or bool(requested.acknowledgement_batches)
            yield _CHECKING
    _check(request, acknowledges=acknowledges)
    fetch = _ShareFetch(broker, ctx, request)
    yield from fetch.change_session()
    yield from fetch.acknowledge()
    return fetch.run()


def logs_of(broker: Broker, version: int, request: ShareFetchRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called; a session's were opened when they joined it."""
    for topic in request.topics:
        for requested in topic.partitions:
            yield broker.partition_by_id(topic.topic_id, requested.partition_index)


def failed(request: ShareFetchRequest, version: int, error: KafkaError) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=error.code, error_message=error.given_message)


def _check(request: ShareFetchRequest, *, acknowledges: bool) -> None:
    """Raises KafkaError INVALID_REQUEST: a session begins without acknowledgements, and renewed locks come without a fetch."""
    if request.share_session_epoch == INITIAL_EPOCH and acknowledges:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    fetches = request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    if request.is_renew_ack and fetches:
        raise KafkaError(ErrorCode.INVALID_REQUEST)


class _ShareFetch:
    """One request: its acknowledgements, then its records, for which it may wait."""

    def __init__(self, broker: Broker, ctx: RequestContext, request: ShareFetchRequest) -> None:
        self.broker = broker
        self.ctx = ctx
        self.request = request
        self.group_id, self.member_id = request.group_id or "", request.member_id or ""
        self.session = self._session()
        self.answers: dict[TopicIdPartition, PartitionData] = {}
        self.leaders: set[int] = set()
        self.response: Deferred[ShareFetchResponse] = Deferred()
        self.acknowledged: Deferred[None] = Deferred.completed(None)
        self.acquired = 0
        self.left = min(request.max_bytes, broker.fetch_max_bytes)
        self.needed = min(request.min_bytes, self.left)
        self.timer: Timer | None = None
        self.watched: list[LedSharePartition] = []
        self.over = self.failed = False
        self.looking = False
        self.look_again = False

    def _session(self) -> ShareSession:
        """The session. Raises what ``ShareSessions.begin`` and ``next`` raise."""
        request, sessions = self.request, self.broker.share_partitions.sessions
        key = ShareMemberKey(self.group_id, self.member_id)
        if request.share_session_epoch == INITIAL_EPOCH:
            return sessions.begin(key, self.ctx.connection)
        return sessions.next(key, request.share_session_epoch)

    def change_session(self) -> Steps:
        """Add the partitions of the request to the session, and take others out. Raises KafkaError SHARE_SESSION_LIMIT_REACHED if there
        are too many; then it has ended.
        """
        sessions, first = self.broker.share_partitions.sessions, self.request.share_session_epoch == INITIAL_EPOCH
        if self.request.share_session_epoch == FINAL_EPOCH:
            return
        for topic in self.request.topics:
            for each in topic.partitions:
                sessions.add(self.session, (topic.topic_id, each.partition_index))
                if first:
                    self._data((topic.topic_id, each.partition_index))
                yield _CHECKING
        for gone in self.request.forgotten_topics_data:
            for index in gone.partitions:
                sessions.remove(self.session, (gone.topic_id, index))
                yield _CHECKING

    # ---- acknowledgements --------------------------------------------------------------------------------------------

    def acknowledge(self) -> Steps:
        """Begin to carry out the acknowledgements of the request."""
        waits: list[Deferred[None]] = []
        for topic in self.request.topics:
            for requested in topic.partitions:
                if requested.acknowledgement_batches:
                    where, batches = (topic.topic_id, requested.partition_index), requested.acknowledgement_batches
                    done = acknowledged(self.broker, self.ctx, self.group_id, self.member_id, where, batches)
                    waits.append(done.map(partial(self._note, where)))
                    yield _WEIGHT
        if waits:
            self.acknowledged = gather(waits).map(lambda _: None)

    def run(self) -> Deferred[ShareFetchResponse]:
        """The wait for the answer."""
        if self.request.share_session_epoch == FINAL_EPOCH or self.request.is_renew_ack:
            self._finish()
            return self.response
        if self.request.max_wait_ms > 0:
            self.timer = self.broker.runtime.client_timers.after(self.request.max_wait_ms, self._expire)
        self.response.when_abandoned = self._stop
        self.session.waiting[self._wake] = None
        self._look()
        return self.response

    def _note(self, where: TopicIdPartition, error: KafkaError | None) -> None:
        data = self._data(where)
        if error is not None:
            data.acknowledge_error_code, data.acknowledge_error_message = error.code, error.given_message

    # ---- records -----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Acquire what there is in each partition; answer, or wait for more."""
        self.look_again = False
        if self.over:
            return
        self.looking = True
        self._unwatch()
        looked = as_wait(self.broker.runtime.slices.run(self._look_at_all()))
        looked.map(lambda _: self._looked()).or_log("acquiring records for a share group")

    def _look_at_all(self) -> Work[list[None]]:
        waits: list[Deferred[None]] = []
        if self.needed > 1 and self.timer is not None and not (yield from self._is_enough()):
            return gather(waits)
        for where in self.session.in_turn():
            if self._is_over() or self.acquired >= self.request.max_records or self.left <= 0:
                break
            try:
                wait = self._look_at(where)
            except KafkaError as error:
                self._fail(where, error)
                wait = None
            if wait is not None:
                waits.append(wait)
            yield _WEIGHT
        return gather(waits)

    def _is_enough(self) -> Generator[float, None, bool]:
        """Whether there are as many bytes to acquire as the member wants, or something to be told of."""
        available = 0
        for where in self.session.in_turn():
            if self._is_over():
                return True
            try:
                led = self._opened(where)
            except KafkaError:
                return True
            available += 0 if led is None else led.available_bytes(self.needed)
            if available >= self.needed:
                return True
            yield _WEIGHT
        return False

    def _opened(self, where: TopicIdPartition) -> LedSharePartition | None:
        """The share partition, which wakes this request from now on; None until it is open. Raises what ``readable`` raises, and what
        it cannot be opened for.
        """
        partition = readable(self.broker, self.ctx, where)
        led = self.broker.share_partitions.led(self.group_id, partition)
        self.watched.append(led)
        led.waiting[self._wake] = None
        if not led.opening.done:
            return None  # it tells when it is opened, or cannot be
        if led.opening.error is not None:
            raise led.opening.error
        return led

    def _look_at(self, where: TopicIdPartition) -> Deferred[None] | None:
        led = self._opened(where)
        if led is None:
            return None
        found = led.acquire(
            Wanted(
                self.member_id,
                self.request.max_records - self.acquired,
                self.left,
                self.request.batch_size,
                strict=self.request.share_acquire_mode == _RECORD_LIMIT,
                is_over=self._is_over,
            )
        )
        if isinstance(found, Deferred):
            return found.map(partial(self._take, where)).recover(KafkaError, partial(self._fail, where))
        self._take(where, found)
        return None

    def _is_over(self) -> bool:
        return self.over or self.session.has_ended

    def _take(self, where: TopicIdPartition, delivery: Delivery | None) -> None:
        if delivery is None:
            return
        data = self._data(where)
        data.records = delivery.records
        data.acquired_records = [AcquiredRecords(*each) for each in delivery.acquired]
        self.left -= len(delivery.records)
        self.acquired += sum(each.last - each.first + 1 for each in delivery.acquired)

    def _fail(self, where: TopicIdPartition, error: KafkaError) -> None:
        self.failed = True
        data = self._data(where)
        data.error_code, data.error_message = error.code, error.given_message
        partition = self.broker.placed(*where)
        if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER and partition is not None:
            data.current_leader = LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
            self.leaders.add(partition.leader)

    def _looked(self) -> None:
        self.looking = False
        if (
            self.acquired
            or self.failed
            or self.timer is None
            or self.session.has_ended
            or self.broker.leaving
            or not self.session.partitions
        ):
            self._finish()
        elif self.look_again:
            self.broker.runtime.wake_queue.add(self._look)

    def _wake(self) -> None:
        self.look_again = True
        if not self.looking:
            self._look()

    def _expire(self) -> None:
        self.timer = None
        if not self.looking:
            if self.needed > 1:  # what there is, fewer bytes than were wanted
                self._look()
            else:
                self._finish()

    def _stop(self) -> None:
        """The client has gone, or is answered."""
        self.over = True
        self.response.when_abandoned = (
            None  # else the answer would refer to itself, and stay until a full collection of garbage
        )
        self.session.waiting.pop(self._wake, None)
        self._unwatch()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _unwatch(self) -> None:
        for led in self.watched:
            led.waiting.pop(self._wake, None)
        self.watched.clear()

    # ---- the answer --------------------------------------------------------------------------------------------------

    def _data(self, where: TopicIdPartition) -> PartitionData:
        found = self.answers.get(where)
        if found is None:
            found = self.answers[where] = PartitionData(partition_index=where[1], records=b"")
        return found

    def _finish(self) -> None:
        if self.over:
            return
        self._stop()
        run = self.broker.runtime.slices.run
        self.acknowledged.chain(lambda _: as_wait(run(self._answer()))).pass_to(self.response)

    def _answer(self) -> Work[ShareFetchResponse]:
        if self.request.share_session_epoch == FINAL_EPOCH:
            self.broker.share_partitions.sessions.end(self.session)
        topics: dict[bytes, ShareFetchableTopicResponse] = {}
        for number, ((topic_id, _), data) in enumerate(self.answers.items()):
            if number % _ANSWERED_AT_ONCE == _ANSWERED_AT_ONCE - 1:
                yield _ANSWERED_AT_ONCE * WEIGHT_OF_LITTLE
            topics.setdefault(topic_id, ShareFetchableTopicResponse(topic_id)).partitions.append(data)
        limits = self.broker.share_partitions.settings(self.group_id).limits()
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=limits.lock_duration_ms,
            responses=list(topics.values()),
            node_endpoints=leader_endpoints(self.broker, self.ctx.listener, self.leaders, NodeEndpoint),
        )
