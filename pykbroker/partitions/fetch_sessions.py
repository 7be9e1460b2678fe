"""Incremental fetch sessions (KIP-227): a consumer names its partitions once, then only changes.

A session watches its partitions and keeps the set of those that may have news (``ready``), so a fetch over hundreds of
partitions reads only these.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from pykbroker.runtime.slices import at_once
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps
    from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
NO_SESSION = 0

#: Partitions that each session may have. One has more only while all sessions of the broker together have no more than their slots
#: have so, since they would take its memory: else the fetch has no session. Apache Kafka counts sessions alone.
MOST_PARTITIONS = 5_000
#: The weight of a partition that is added or dropped, of work in slices.
_WEIGHT = 0.2
#: And of one that is to be looked at again.
_WEIGHT_OF_A_LOOK = 0.01

#: A topic as the request names it (name up to version 12, id from 13), and the partition's index.
ItemKey = tuple[str | bytes, int]


class FetchItem:
    """One partition of a fetch: the client's request for it, and the last answer."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "former_place",
        "index",
        "key",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "name",
        "partition",
        "place",
        "sent_high_watermark",
        "sent_log_start_offset",
        "topic",
    )

    def __init__(
        self,
        topic: str | bytes,
        index: int,
        current_leader_epoch: int,
        fetch_offset: int,
        last_fetched_epoch: int,
        log_start_offset: int,
        max_bytes: int,
    ) -> None:
        self.topic = topic
        self.index = index
        self.key: ItemKey = (topic, index)
        self.partition: Partition | None = None
        #: The name of the topic, if it is requested by id and has been found; kept when it is deleted.
        self.name: str | None = None
        #: Orders the partitions of a session, and what it was before the last answer that had records of this one.
        self.place = self.former_place = 0
        self.sent_high_watermark = -1
        self.sent_log_start_offset = -1
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.max_bytes = max_bytes

    @classmethod
    def of(cls, topic: str | bytes, requested: FetchPartition) -> FetchItem:
        """What a request says of a partition."""
        return cls(
            topic,
            requested.partition,
            requested.current_leader_epoch,
            requested.fetch_offset,
            requested.last_fetched_epoch,
            requested.log_start_offset,
            requested.partition_max_bytes,
        )

    def update(self, requested: FetchItem) -> None:
        """Apply what a new request says of this partition."""
        self.fetch_offset = requested.fetch_offset
        self.max_bytes = requested.max_bytes
        self.current_leader_epoch = requested.current_leader_epoch
        self.last_fetched_epoch = requested.last_fetched_epoch
        self.log_start_offset = requested.log_start_offset


_PLACE = attrgetter("place")


class FetchSession:
    """The partitions that one consumer, or one follower, fetches.

    Their order is that of the session's first answer, then that in which they joined. One whose records were answered later is
    the last from then on, so that the limits of an answer do not leave out the same partitions each time. To be named again
    changes nothing. Kafka keeps the same order.
    """

    def __init__(self, session_id: int, *, uses_topic_ids: bool, now: float) -> None:
        self.id = session_id
        self.epoch = 1
        self.uses_topic_ids = uses_topic_ids
        self.last_used = now
        self.created = now
        self.items: dict[ItemKey, FetchItem] = {}
        self.ready: dict[ItemKey, FetchItem] = {}
        #: The waiting fetches of this session, which are notified of appends and changes.
        self.waiter: SessionWaiter | None = None
        self.closed = False
        #: Whether a follower has it; see ``PartitionWatcher``.
        self.is_replica = False
        self._by_partition: dict[Partition, FetchItem] = {}
        self._last_place = 0

    def ask(self, requested: FetchItem) -> None:
        """Add a partition, or update one; it is ready."""
        key = requested.key
        item = self.items.get(key)
        if item is None:
            item = self.items[key] = requested
            self.to_the_end(item)
        else:
            item.update(requested)
        self.ready[key] = item

    def answered(
        self,
        item: FetchItem,
        high_watermark: int,
        log_start_offset: int,
        *,
        has_records: bool,
        has_news: bool,
        incremental: bool,
    ) -> bool:
        """Note what an answer would say of a partition, with offsets of -1 where it is an error; returns whether it says it: the first
        answer says all, later ones what is new.
        """
        changed = high_watermark != item.sent_high_watermark or log_start_offset != item.sent_log_start_offset
        item.sent_high_watermark = high_watermark
        item.sent_log_start_offset = log_start_offset
        if has_records or not incremental:
            self.to_the_end(item)
        if has_news:
            self.ready[item.key] = item
        elif item.partition is not None and item.fetch_offset == item.partition.log_end_offset:
            self.ready.pop(item.key, None)  # not ready until an append or a change
        return has_news or changed or not incremental

    def look_again(self) -> None:
        """Mark all partitions ready."""
        self.ready.update(self.items)

    def ready_in_order(self) -> list[FetchItem]:
        """The partitions that may have news."""
        ready = self.ready
        return sorted(ready.values(), key=_PLACE) if len(ready) > 1 else list(ready.values())

    def to_the_end(self, item: FetchItem) -> None:
        """Make this partition the last of the order."""
        item.former_place = item.place
        self._last_place += 1
        item.place = self._last_place

    def forget(self, key: ItemKey) -> None:
        """Drop a partition; an unknown one is ignored, as in Kafka."""
        item = self.items.pop(key, None)
        self.ready.pop(key, None)
        if item is not None:
            self.unwatch(item)

    def watch(self, item: FetchItem, partition: Partition) -> None:
        """Watch ``partition`` for ``item`` from now on; a closed session watches nothing."""
        self.unwatch(item)
        item.partition = partition
        if self.closed:
            return
        self._by_partition[partition] = item
        partition.watchers[self] = None

    def unwatch(self, item: FetchItem) -> None:
        """Stop watching the item's partition."""
        partition, item.partition = item.partition, None
        if partition is not None:
            self._by_partition.pop(partition, None)
            partition.watchers.pop(self, None)

    def close(self) -> Steps:
        """Answer fetches that wait; the steps stop watching all partitions."""
        self.closed = True
        waiter, self.waiter = self.waiter, None
        if waiter is not None:
            waiter.session_closed()
        return self._unwatch_all()

    def _unwatch_all(self) -> Steps:
        for item in list(self.items.values()):
            self.unwatch(item)
            yield _WEIGHT

    def appended(self, partition: Partition, size: int) -> None:
        item = self._by_partition.get(partition)
        if item is not None:
            self.ready[item.key] = item
            if self.waiter is not None:
                self.waiter.appended(partition, size)

    def changed(self, partition: Partition) -> None:
        item = self._by_partition.get(partition)
        if item is not None:
            self.ready[item.key] = item
            if self.waiter is not None:
                self.waiter.changed(partition)


class Watcher:
    """Notified by a partition of its changes. Sessions, and waiting fetches without a session, are watchers."""

    is_replica = False

    def appended(self, partition: Partition, size: int) -> None:
        """``size`` bytes were appended."""
        raise NotImplementedError

    def changed(self, partition: Partition) -> None:
        """Its leader, existence, log start offset or high watermark changed: read it again at once."""
        raise NotImplementedError


class SessionWaiter(Watcher):
    """A fetch that waits for a session's partitions."""

    def session_closed(self) -> None:
        """The session was closed; no notification follows."""
        raise NotImplementedError


class FetchSessions:
    """The sessions of one broker, bounded in number; the least recently used idle one is evicted (KIP-227)."""

    def __init__(self, runtime: Runtime, *, slots: int, eviction_ms: int) -> None:
        self._clock = runtime.clock
        self._random = runtime.random
        self._slices = runtime.slices
        self._slots = slots
        self._eviction_s = eviction_ms / 1000
        self._sessions: dict[int, FetchSession] = {}  # least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int) -> FetchSession | None:
        """The session of a request, with the request's changes applied; None for a fetch without one, and for one that leaves
        its session without partitions, which ends it.

        A new session has its id in ``FetchSession.id``. Raises KafkaError FETCH_SESSION_ID_NOT_FOUND,
        INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR.
        """
        return at_once(self.begin_in_slices(request, version))

    def begin_in_slices(self, request: FetchRequest, version: int) -> Generator[float, None, FetchSession | None]:
        """``begin`` for a request that names many partitions."""
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._drop(request.session_id)
            if request.session_epoch == FINAL_EPOCH:
                return None
            return (yield from self._open(request, version))
        return (yield from self._continue(request, version))

    def has_room(self, session: FetchSession | None, more: int) -> bool:
        """Whether a session, or a new one, may have so many partitions more."""
        if (0 if session is None else len(session.items)) + more <= MOST_PARTITIONS:
            return True
        return sum([len(each.items) for each in self._sessions.values()]) + more <= MOST_PARTITIONS * self._slots

    def _continue(self, request: FetchRequest, version: int) -> Generator[float, None, FetchSession | None]:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= 13):
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.topics and not self.has_room(session, _count(request)):
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)  # the client fetches in full, without a session
        self.go_on(session)
        for topic, requested in requested_partitions(request, version):
            session.ask(FetchItem.of(topic, requested))
            yield _WEIGHT
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                session.forget((gone.topic_id if version >= 13 else gone.topic, index))
                yield _WEIGHT
        if not session.items:
            self._drop(session.id)
            return None
        return session

    def go_on(self, session: FetchSession) -> None:
        """Begin the next request of a session."""
        session.epoch = 1 if session.epoch == 0x7FFFFFFF else session.epoch + 1
        session.last_used = self._clock.monotonic()
        self._sessions[session.id] = self._sessions.pop(session.id)

    def emptied(self, request: FetchRequest, response: FetchResponse) -> Generator[float, None, FetchResponse]:
        """The answer to a throttled client, in slices, which has no records: what ``response`` would have told is told later, and a session
        that it would have opened is none.
        """
        session_id = yield from self._take_back(request.session_id, response)
        return type(response)(error_code=response.error_code, session_id=session_id)

    def _take_back(self, requested_id: int, response: FetchResponse) -> Generator[float, None, int]:
        """Undo the effects of an answer that is not sent: its partitions are ready again, where they were, a session that it
        opened is removed. Returns the session id for the answer that is sent instead.
        """
        session = self._sessions.get(response.session_id)
        if session is None or session.id != requested_id:
            self._drop(response.session_id)
            return NO_SESSION
        for topic in response.responses:
            for told in topic.partitions:
                item = session.items.get(
                    (topic.topic_id if session.uses_topic_ids else topic.topic, told.partition_index)
                )
                if item is not None:
                    item.sent_high_watermark = item.sent_log_start_offset = -1
                    if told.records:
                        item.place = item.former_place
                    session.ready[item.key] = item
                yield _WEIGHT
        return session.id

    def session(self, session_id: int) -> FetchSession | None:
        """A session by its id."""
        return self._sessions.get(session_id)

    def _open(self, request: FetchRequest, version: int) -> Generator[float, None, FetchSession | None]:
        if not self.has_room(None, _count(request)):
            return None
        if len(self._sessions) >= self._slots and not self._evict():
            return None
        session_id = self._random.randrange(1, 0x7FFFFFFF)
        while session_id in self._sessions:
            session_id = self._random.randrange(1, 0x7FFFFFFF)
        session = FetchSession(session_id, uses_topic_ids=version >= 13, now=self._clock.monotonic())
        self._sessions[session_id] = session
        for topic, requested in requested_partitions(request, version):
            session.ask(FetchItem.of(topic, requested))
            yield _WEIGHT
        return session

    def _evict(self) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or self._clock.monotonic() - oldest.last_used < self._eviction_s:
            return False
        self._drop(oldest.id)
        return True

    def look_again(self) -> None:
        """Mark all partitions of all sessions ready, since authorization has changed; those of many in later turns."""
        self._slices.begin(self._look_again())

    def _look_again(self) -> Iterator[float]:
        for session in list(self._sessions.values()):
            if not session.closed:
                session.look_again()
                yield _WEIGHT + _WEIGHT_OF_A_LOOK * len(session.items)

    def close(self) -> None:
        """Close all sessions; the broker stops."""
        closing = [session.close() for session in self._sessions.values()]
        self._sessions.clear()
        self._slices.begin(chain.from_iterable(closing))

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._slices.begin(session.close())


def _count(request: FetchRequest) -> int:
    return sum([len(topic.partitions) for topic in request.topics])


def requested_partitions(request: FetchRequest, version: int) -> Iterator[tuple[str | bytes, FetchPartition]]:
    """Every partition of a request, with its topic as the version gives it (name or id)."""
    for topic in request.topics:
        name = topic.topic_id if version >= 13 else topic.topic
        for requested in topic.partitions:
            yield name, requested
