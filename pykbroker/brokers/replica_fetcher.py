"""Fetches from one leader for all partitions that this broker follows there (Kafka's ReplicaFetcherThread), in an incremental session.

One fetch is under way. Its answer is applied, and the next one leaves in the same turn, so that the leader learns at once how far the
replica is. A partition that fails rests for ``replica.fetch.backoff.ms``, and the others go on. A leader that answers at once, and has
nothing new, is asked no more than some times before a short rest: settings may make it so, and between brokers of one process no
network slows that down.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from pykbroker.partitions.following import FollowedPartition
from pykbroker.replication.following import FetchPlace, FollowerDecision, FollowerStep
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.replication.throttling import ReplicationQuota
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.message import Message

log = logging.getLogger(__name__)

FETCH_VERSION, LIST_OFFSETS_VERSION = 17, 9
_LATEST, _EARLIEST = -1, -2
_NEW_SESSION = 0
#: So many answers in a row that came at once and brought nothing are followed by a rest of so many milliseconds.
_MOST_IDLE = 10
_IDLE_MS = 50
#: The first rest of a partition after an error, and how often it doubles.
_FIRST_BACKOFF_MS, _MOST_DOUBLED = 20, 16

#: The leader has given up the session, or a request of it has overtaken one that was given up here.
_OF_THE_SESSION = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)

Key = tuple[bytes, int]


class Peers(Protocol):
    """The way to other brokers."""

    def ask(self, node_id: int, request: Message, version: int, /) -> Deferred[Message]:
        """The answer of another broker. Fails with KafkaError NETWORK_EXCEPTION if it does not run."""
        ...


class ReplicaFetcher:
    """See the module. ``epoch`` is the epoch of this broker."""

    def __init__(
        self,
        node_id: int,
        epoch: int,
        leader: int,
        peers: Peers,
        config: BrokerConfig,
        runtime: Runtime,
        quota: ReplicationQuota,
    ) -> None:
        self.leader = leader
        self._replica = ReplicaState(node_id, epoch)
        self._peers = peers
        self._runtime = runtime
        #: ``follower.replication.throttled.rate``.
        self._quota = quota
        self._wait_ms: int = config["replica.fetch.wait.max.ms"]
        self._min_bytes: int = config["replica.fetch.min.bytes"]
        self._partition_bytes: int = config["replica.fetch.max.bytes"]
        self._response_bytes: int = config["replica.fetch.response.max.bytes"]
        self._backoff_ms: int = config["replica.fetch.backoff.ms"]
        self._followed: dict[Key, FollowedPartition] = {}
        #: Where they are fetched: all but those that rest, or whose logs are changed, or that are held back.
        self._places: dict[Key, FetchPlace] = {}
        #: Those that may be elsewhere since: a fetch looks at no others, of which there may be thousands.
        self._stirred: dict[Key, None] = {}
        #: Whether replication was above its limit.
        self._was_above = False
        #: What the session at the leader has of each partition.
        self._named: dict[Key, tuple[FetchPlace, int]] = {}
        self._session_id, self._session_epoch = 0, _NEW_SESSION
        #: The answer that is under way.
        self._pending: Deferred[Message] | None = None
        self._resting = self._ended = False
        #: When it was asked for, and how many answers before it came at once and brought nothing.
        self._sent_ms = self._idle = 0

    def __len__(self) -> int:
        return len(self._followed)

    def add(self, followed: FollowedPartition) -> None:
        """Fetch this partition, too, and at once: a fetch that waits at the leader for records of others is given up, where Apache Kafka
        waits for it.
        """
        self._followed[followed.key] = followed
        self._stirred[followed.key] = None
        self._give_up_waiting()
        if followed.begin is not None:
            self._carry_out(followed, followed.begin)
        self._runtime.wake_queue.add(self._fetch)

    def remove(self, key: Key) -> None:
        """Fetch this partition no more."""
        if self._followed.pop(key, None) is not None:
            self._stirred[key] = None

    def end(self) -> None:
        """Fetch nothing any more; an answer under way is ignored."""
        self._ended = True
        self._followed.clear()

    def _give_up_waiting(self) -> None:
        pending = self._pending
        if pending is None or pending.done or pending.when_abandoned is None:
            return  # none, or already answered, or not there yet
        pending.abandon()
        self._pending = None
        if self._session_id:
            self._next_epoch()
        else:
            self._forget_session()

    # -- fetching -----------------------------------------------------------------------------------------------------

    def _fetch(self) -> None:
        """Send a fetch, unless one is under way, or there is nothing to fetch."""
        if self._pending is not None or self._resting or self._ended:
            return
        now_ms = self._now_ms()
        held_back = self._look_at_places(above=self._quota.is_exceeded(now_ms))
        if not self._places:
            if held_back:
                self._rest()
            return
        self._sent_ms = now_ms
        pending = self._pending = attempt(self._peers.ask, self.leader, self._request(), FETCH_VERSION)
        pending.fold(self._answered).or_log("fetching from broker %d", self.leader)

    def _look_at_places(self, *, above: bool) -> bool:
        """Find where what has stirred is fetched now, or all if replication is, or was, ``above`` its limit; whether any is held back."""
        if above or self._was_above:
            self._stirred.update(dict.fromkeys(self._followed))
        self._was_above = above
        held_back = False
        for key in self._stirred:
            followed = self._followed.get(key)
            place = None if followed is None or followed.resting else followed.machine.place
            if followed is not None and place is not None and above and not followed.in_sync:
                partition = followed.partition
                if self._quota.is_throttled(partition.topic, partition.index):
                    place, held_back = None, True
            if place is None:
                self._places.pop(key, None)
            else:
                self._places[key] = place
        return held_back

    def _request(self) -> FetchRequest:
        """The next request of the session: what is new in it, and what has left it. A log start that moves by itself is told with the next
        change of its partition.
        """
        asked, self._stirred = self._stirred, {}
        if self._session_epoch == _NEW_SESSION:
            asked = dict.fromkeys(self._places)
        topics: dict[bytes, FetchTopic] = {}
        forgotten: dict[bytes, ForgottenTopic] = {}
        for topic_id, index in asked:
            place = self._places.get((topic_id, index))
            if place is None:
                if self._named.pop((topic_id, index), None) is not None:
                    forgotten.setdefault(topic_id, ForgottenTopic(topic_id=topic_id)).partitions.append(index)
                continue
            log_start = self._followed[topic_id, index].partition.log.log_start_offset
            if self._named.get((topic_id, index)) == (place, log_start):
                continue
            self._named[topic_id, index] = place, log_start
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=index,
                    current_leader_epoch=place.leader_epoch,
                    fetch_offset=place.offset,
                    last_fetched_epoch=place.last_fetched_epoch,
                    log_start_offset=log_start,
                    partition_max_bytes=self._partition_bytes,
                )
            )
        return FetchRequest(
            replica_state=self._replica,
            max_wait_ms=self._wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=self._response_bytes,
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
        )

    def _answered(self, done: Deferred[Message]) -> None:
        if self._pending is not done:
            return  # it was given up
        try:
            goes_on = not self._ended and self._apply_all(done)
        finally:
            self._pending = None  # before, no fetch leaves: what is applied is compared with the places of this one
        if goes_on:
            self._fetch()

    def _apply_all(self, done: Deferred[Message]) -> bool:
        """Do what an answer says; whether to fetch again now."""
        if done.error is not None:
            self._forget_session()
            if not isinstance(done.error, KafkaError):
                log.error("Fetching from broker %d failed", self.leader, exc_info=done.error)
            self._rest()
            return False
        response = done.value
        assert isinstance(response, FetchResponse)
        if response.error_code:
            self._forget_session()
            if response.error_code in _OF_THE_SESSION:
                return True
            self._rest()
            return False
        self._session_id = response.session_id
        self._next_epoch()
        if not response.session_id:
            self._forget_session()
        news = [
            self._apply((topic.topic_id, data.partition_index), data)
            for topic in response.responses
            for data in topic.partitions
        ]
        self._idle = 0 if any(news) or self._now_ms() - self._sent_ms >= _IDLE_MS else self._idle + 1
        if self._idle < _MOST_IDLE:
            return True
        self._idle = 0
        self._rest(_IDLE_MS)
        return False

    def _next_epoch(self) -> None:
        self._session_epoch = 1 if self._session_epoch == 0x7FFFFFFF else self._session_epoch + 1

    def _forget_session(self) -> None:
        self._session_id, self._session_epoch = 0, _NEW_SESSION
        self._named = {}

    def _now_ms(self) -> int:
        return int(self._runtime.clock.monotonic() * 1000)

    def _rest(self, ms: int | None = None) -> None:
        """Wait a while before the next fetch, ``replica.fetch.backoff.ms`` by default, since the leader does not answer, or all that is
        followed is above its limit.
        """
        self._resting = True

        def over() -> None:
            self._resting = False
            self._fetch()

        self._runtime.client_timers.after(self._backoff_ms if ms is None else ms, over)

    # -- one partition ------------------------------------------------------------------------------------------------

    def _apply(self, key: Key, data: PartitionData) -> bool:
        """Do what an answer says of a partition; whether that changes anything."""
        followed, origin = self._followed.get(key), self._places.get(key)
        if followed is None or origin is None:
            return False
        self._stirred[key] = None
        diverging = data.diverging_epoch
        ends = None if diverging is None or diverging.epoch < 0 else (diverging.epoch, diverging.end_offset)
        decision = followed.machine.answered(origin, data.error_code, ends)
        if decision.step is FollowerStep.APPEND:
            return self._append(followed, data)
        if decision.step is FollowerStep.ASK_OFFSETS:
            self._ask_offsets(followed, origin)
        else:
            self._carry_out(followed, decision)
        return decision.step is not FollowerStep.IGNORE

    def _append(self, followed: FollowedPartition, data: PartitionData) -> bool:
        before = followed.ends
        try:
            size = followed.append(data)
        except Exception as error:  # the other partitions go on
            unexpected = None if isinstance(error, KafkaError) else error
            log.error("%r cannot append what its leader sent: %s", followed.partition, error, exc_info=unexpected)
            if followed.log.directory.offline:  # until the process starts again
                self.remove(followed.key)
            else:
                self._rest_of(followed)
            return True
        partition = followed.partition
        self._quota.moved(partition.topic, partition.index, size, self._now_ms())
        return followed.ends != before

    def _carry_out(self, followed: FollowedPartition, decision: FollowerDecision) -> None:
        if decision.step is FollowerStep.BACK_OFF:
            self._rest_of(followed)
        elif decision.step in (FollowerStep.TRUNCATE, FollowerStep.START_OVER):
            log.info("%r %s", followed.partition, _SAID[decision.step] % decision.offset)
            self._cut(followed, decision)

    def _cut(self, followed: FollowedPartition, decision: FollowerDecision) -> None:
        if self._followed.get(followed.key) is followed:
            cut = followed.cut(decision).fold(partial(self._was_cut, followed, decision))
            cut.or_log("truncating %r", followed.partition)

    def _was_cut(self, followed: FollowedPartition, decision: FollowerDecision, done: Deferred[None]) -> None:
        """A full disk may have room later: then the checkpoints are written, before which nothing is appended. Where nothing was cut off, the
        leader would say the same again at once.
        """
        if done.error is None:
            if followed.machine.moved():
                self._stirred[followed.key] = None
            else:
                self._rest_of(followed)
            self._fetch()
        elif isinstance(done.error, KafkaError) and not followed.log.directory.offline:
            log.error("%r cannot be truncated yet: %s", followed.partition, done.error)
            self._runtime.client_timers.after(self._backoff_ms, partial(self._cut, followed, decision))
        else:
            log.error("%r cannot be truncated, and follows no more: %s", followed.partition, done.error)
            self.remove(followed.key)

    def _rest_of(self, followed: FollowedPartition) -> None:
        """Let one partition rest, while the others are fetched: ``replica.fetch.backoff.ms`` at most, and shortly at first, since its leader may
        hear of that later than this broker. Apache Kafka rests as long each time.
        """
        pause_ms = min(_FIRST_BACKOFF_MS << min(followed.rest(), _MOST_DOUBLED), self._backoff_ms)
        self._stirred[followed.key] = None

        def over() -> None:
            followed.resting = False
            self._stirred[followed.key] = None
            self._fetch()

        self._runtime.client_timers.after(pause_ms, over)

    def _ask_offsets(self, followed: FollowedPartition, origin: FetchPlace) -> None:
        """The place is out of the leader's range: ask it for that."""
        followed.resting = True

        def known(done: Deferred[list[int]]) -> None:
            followed.resting = False
            self._stirred[followed.key] = None
            if done.error is not None:
                self._rest_of(followed)
                return
            start, end = done.value
            self._carry_out(followed, followed.machine.leader_has(origin, start, end))
            self._fetch()

        earliest = self._offset(followed, origin, _EARLIEST)
        both = earliest.chain(lambda start: self._offset(followed, origin, _LATEST).map(lambda end: [start, end]))
        both.fold(known).or_log("asking broker %d for offsets", self.leader)

    def _offset(self, followed: FollowedPartition, origin: FetchPlace, timestamp: int) -> Deferred[int]:
        asked = ListOffsetsPartition(followed.key[1], origin.leader_epoch, timestamp)
        topic = ListOffsetsTopic(followed.partition.topic, [asked])
        request = ListOffsetsRequest(replica_id=self._replica.replica_id, topics=[topic])
        return self._peers.ask(self.leader, request, LIST_OFFSETS_VERSION).map(_only_offset)


def _only_offset(response: Message) -> int:
    assert isinstance(response, ListOffsetsResponse)
    found = response.topics[0].partitions[0]
    if found.error_code:
        raise KafkaError(error_code(found.error_code))
    return found.offset


_SAID = {
    FollowerStep.TRUNCATE: "is truncated to offset %d, where its log and its leader's part",
    FollowerStep.START_OVER: "begins anew at offset %d, where its leader's log begins",
}
