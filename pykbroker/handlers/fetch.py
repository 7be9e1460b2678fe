"""Fetch (key 1), versions 4 to 18.

Sessions (KIP-227), long poll with min bytes and max wait, isolation levels, topic ids from version 13 (KIP-516), the
current leader in errors from version 16 (KIP-951), divergence by last_fetched_epoch from version 12 (KIP-595). Only whole
batches are returned, and at least one whatever the size limits are (KIP-74).

From version 11 any replica answers consumers, and with the rack-aware replica selector the leader sends consumers to a
replica in their own rack (KIP-392) that has the offset. Followers fetch to the log end offset, in brokers with copies of their own.

Left out: down-conversion, which Apache Kafka 4 removed too.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING

from pykbroker.handlers.fetching.answer import without_records
from pykbroker.handlers.fetching.attempt import Attempt
from pykbroker.handlers.fetching.context import READ_COMMITTED, FetchContext
from pykbroker.handlers.in_slices import in_slices, is_small
from pykbroker.partitions.fetch_sessions import FetchItem, ItemKey, requested_partitions
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.runtime.waits import attempt as attempt_to
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.fetch import FetchableTopicResponse, FetchResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.timers import Timer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.fetch import FetchRequest


def handle(broker: Broker, ctx: RequestContext, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
    version = ctx.api_version
    if request.isolation_level not in (0, READ_COMMITTED):
        return failed(request, version, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))  # Apache Kafka answers so
    if not _is_small(broker, request):
        return in_slices(broker, ctx, _fetch_many(broker, ctx, request))
    try:
        session = broker.fetch_sessions.begin(request, version)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    return Fetch(broker, ctx, request, session).run()


#: Partitions that are read in one turn, and the weight of one of more than these.
AT_ONCE = 1000
_WEIGHT = 2
#: The longest wait, in milliseconds, of a fetch that names more without a session: it looks at all once more, without being told of changes.
_LONGEST_WAIT_MS = 500


def _is_small(broker: Broker, request: FetchRequest) -> bool:
    """Whether what is named, and what may have news in its session, is read in one turn."""
    if (request.topics and not is_small(request.topics, AT_ONCE)) or (
        request.forgotten_topics_data and not is_small(request.forgotten_topics_data, AT_ONCE)
    ):
        return False
    session = broker.fetch_sessions.session(request.session_id)
    return session is None or len(session.ready) <= AT_ONCE


def _fetch_many(broker: Broker, ctx: RequestContext, request: FetchRequest) -> Work[FetchResponse]:
    try:
        session = yield from broker.fetch_sessions.begin_in_slices(request, ctx.api_version)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    items: dict[ItemKey, FetchItem] = {}  # each once, as ``FetchContext`` has them
    for topic, asked in requested_partitions(request, ctx.api_version) if session is None else ():
        items[topic, asked.partition] = FetchItem.of(topic, asked)
        yield 1
    fetch = Fetch(broker, ctx, request, session, list(items.values()))
    if session is not None:
        session.waiter = fetch  # what changes while it looks is looked at again
    attempt = yield from fetch.look_in_slices()
    if attempt.enough() or request.max_wait_ms <= 0:
        if session is not None and session.waiter is fetch:
            session.waiter = None
        return (yield from attempt.answer_in_slices())
    if session is not None:
        waiting = fetch.wait(attempt.needed, attempt.counted + fetch.new_bytes)
        if fetch.missed or fetch.new_bytes >= fetch.needed:
            fetch.retry()
        return waiting
    runtime = broker.runtime
    later: Deferred[FetchResponse] = Deferred()

    def look_again() -> Work[FetchResponse]:
        again = yield from fetch.look_in_slices()
        return (yield from again.answer_in_slices())

    runtime.client_timers.after(
        min(request.max_wait_ms, _LONGEST_WAIT_MS), lambda: as_wait(runtime.slices.run(look_again())).pass_to(later)
    )
    return later


def logs_of(broker: Broker, version: int, request: FetchRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called; a session's were opened when they joined it."""
    for topic, asked in requested_partitions(request, version):
        if isinstance(topic, bytes):
            yield broker.partition_by_id(topic, asked.partition)
        else:
            yield broker.partition(topic, asked.partition)


def failed(request: FetchRequest, version: int, error: KafkaError) -> FetchResponse:
    """The request as a whole is refused; in versions before topic ids every partition carries the error."""
    response = FetchResponse(error_code=error.code if version >= 7 else ErrorCode.NONE)
    if version < 13:
        response.responses = [
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[without_records(asked.partition, error.code, known=False) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    return response


class Fetch(FetchContext):
    """One request: its partitions are read at least once, and again when woken, until there is enough or max wait has passed."""

    needed = new_bytes = 0
    expired = False
    #: Whether it looks in slices, and whether it was to look again meanwhile.
    is_looking = missed = False
    deferred: Deferred[FetchResponse] | None = None
    timer: Timer

    # ---- reading ---------------------------------------------------------------------------------------------------

    def run(self) -> FetchResponse | Deferred[FetchResponse]:
        attempt = self._look()
        if attempt.cold:
            return attempt.finish_cold()
        if attempt.enough() or self.request.max_wait_ms <= 0:
            return attempt.answer()
        return self.wait(attempt.needed, attempt.counted)

    def _look(self) -> Attempt:
        attempt = Attempt(self)
        for item in self.to_look_at():
            attempt.look_at(item)
        return attempt

    def to_look_at(self) -> Iterable[FetchItem]:
        """The partitions that are to be read, in order."""
        if self.session is None:
            return self.items or ()
        return self.session.ready_in_order() if self.incremental else list(self.session.items.values())

    def look_in_slices(self) -> Generator[float, None, Attempt]:
        """One pass over all partitions, with requests of others in between."""
        attempt = Attempt(self)
        self.is_looking, self.missed = True, False
        self.needed, self.new_bytes = attempt.needed, 0
        for item in list(self.to_look_at()):
            attempt.look_at(item)
            yield _WEIGHT
        self.first_look = self.is_looking = False
        return attempt

    @property
    def has_many(self) -> bool:
        """Whether it looks at more partitions than in one turn."""
        session = self.session
        return session is not None and len(session.ready if self.incremental else session.items) > AT_ONCE

    def _look_again(self) -> Work[None]:
        attempt = yield from self.look_in_slices()
        deferred = self.deferred
        if deferred is None:
            return None
        if attempt.enough() or self.expired:
            self.stop_waiting()
            as_wait(self.broker.runtime.slices.run(attempt.answer_in_slices())).pass_to(deferred)
            return None
        self.new_bytes += attempt.counted
        if self.missed or self.new_bytes >= self.needed:
            self.retry()
        return None

    # ---- waiting ---------------------------------------------------------------------------------------------------

    def wait(self, needed: int, counted: int) -> Deferred[FetchResponse]:
        """The answer, once there are ``needed`` bytes, of which ``counted`` are there; or at max wait."""
        self.first_look = False
        deferred: Deferred[FetchResponse] = Deferred()
        deferred.when_abandoned = self.stop_waiting
        self.deferred = deferred
        self.needed, self.new_bytes = needed, counted
        if self.session is not None:
            self.session.waiter = self
        else:
            for item in self.items or ():
                if item.partition is not None:
                    item.partition.watchers[self] = None
        self.timer = self.broker.runtime.client_timers.after(self.request.max_wait_ms, self._expire)
        return deferred

    def appended(self, partition: Partition, size: int) -> None:
        self.new_bytes += size
        if self.new_bytes >= self.needed:
            self.broker.runtime.wake_queue.add(self.retry)

    def changed(self, partition: Partition) -> None:
        self.broker.runtime.wake_queue.add(self.retry)

    def session_closed(self) -> None:
        self.expired = True
        self.broker.runtime.wake_queue.add(self.retry)

    def follow(self, item: FetchItem, partition: Partition) -> None:
        """Watch ``partition`` for ``item`` from now on."""
        if self.session is not None:
            self.session.watch(item, partition)
            return
        item.partition = partition
        if self.deferred is not None:
            partition.watchers[self] = None

    def _expire(self) -> None:
        self.expired = True
        self.retry()

    def retry(self) -> None:
        """Read again: something has changed, or max wait has passed."""
        if self.is_looking:
            self.missed = True
            return
        deferred = self.deferred
        if deferred is None:
            return
        if self.has_many:
            attempt_to(self.broker.runtime.slices.run, self._look_again()).pass_failure_to(deferred)
            return
        attempt = self._look()
        if not (attempt.enough() or self.expired):
            self.new_bytes = attempt.counted
            return
        self.stop_waiting()
        if attempt.cold:
            attempt.finish_cold().pass_to(deferred)
        else:
            deferred.complete(attempt.answer())

    def stop_waiting(self) -> None:
        """Be told of nothing more."""
        self.deferred = None
        self.timer.cancel()
        if self.session is not None:
            if self.session.waiter is self:
                self.session.waiter = None
            return
        for item in self.items or ():
            if item.partition is not None:
                item.partition.watchers.pop(self, None)
