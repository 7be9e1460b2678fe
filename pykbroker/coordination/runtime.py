"""The runtime that all coordinators share: finds the shard of a key, carries out outcomes, runs deadlines.

A key is a group or a transactional id. State machines (``shard.py``) decide and never write; the runtime appends and replays
their decisions and replies once they are committed. A reply leaves when the state that it was computed from, that of its key, is
committed, including earlier appends for others, so no client sees state that the loss of a disk or a leader could undo.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from pykbroker.coordination.appending import GOES_ON, append
from pykbroker.coordination.deadlines import Deadlines, disarm_all
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import Outcome, Part
from pykbroker.coordination.placement import partition_for
from pykbroker.coordination.shard import RecordCodec, Shard
from pykbroker.coordination.shards import Loaded, Shards
from pykbroker.runtime.slices import independently
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinatingBroker, CoordinationHost
    from pykbroker.runtime.slices import Steps, Work

log = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)
T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

#: The weight of beginning a loaded key (``runtime/slices.py``).
_BEGIN_WEIGHT = 5

#: The interval of checks whether a partition is loaded, in milliseconds, while all are loaded at the start.
_READING_PAUSE_MS = 20

Replies = list[tuple[Deferred[Any], Any]]


class CoordinatorRuntime(Generic[S]):
    """See the module.

    ``partitions`` is the partition count of ``topic`` before it is created. ``new_shard`` creates an empty shard; ``opened``
    is called for each loaded one. ``effects`` carries out an effect of an outcome. ``eager``: see ``shards.py``.
    """

    def __init__(
        self,
        host: CoordinationHost,
        topic: str,
        partitions: int,
        *,
        codec: RecordCodec,
        new_shard: Callable[[], S],
        opened: Callable[[Loaded[S]], None],
        effects: Callable[[Loaded[S], Any], None] | None = None,
        eager: bool,
    ) -> None:
        self._host = host
        self._topic = topic
        self._partitions = partitions
        self._codec = codec
        self._told_opened = opened
        self._effects = effects
        self._deadlines: Deadlines[S] = Deadlines(host.runtime, self._tick)
        self.shards: Shards[S] = Shards(
            host,
            topic,
            begin=lambda partition: LogReplay(partition, new_shard(), codec),
            opened=self._opened,
            dropped=self._dropped,
            eager=eager,
        )
        host.metadata.subscribe(lambda _, delta: self.shards.follow(delta))

    # Where keys live

    def partition_of(self, key: str) -> int:
        """The index of the partition to which a key belongs."""
        topic = self._host.metadata.image.topics.get(self._topic)
        return partition_for(key, self._partitions if topic is None else len(topic.partitions))

    def at(self, broker: CoordinatingBroker | None, key: str) -> Loaded[S]:
        """The shard of a key, after doing what is due for the key. ``broker`` None stands for the process itself.

        Raises KafkaError NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
        """
        loaded = self.shards.at(broker, self.partition_of(key))
        if key in loaded.to_begin:
            self._begin(loaded, key)
        if loaded.alarms and self._deadlines.is_due(loaded, key):
            self._tick(loaded, key)
        return loaded

    def load_all(self, index: int = 0) -> None:
        """Load every partition from ``index`` on, one in each turn of the loop, so that transactions that were prepared when
        the process ended are completed without a request.
        """
        if self._host.partition(self._topic, index) is None:
            return
        following, pause_ms = index + 1, 0
        try:
            self.shards.at(None, index)
        except KafkaError as error:  # logged already; the next request tries again
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                following, pause_ms = index, _READING_PAUSE_MS
        self._host.runtime.timers.after(pause_ms, partial(self.load_all, following))

    # Requests

    def ask(
        self, broker: CoordinatingBroker | None, key: str, step: Callable[[S, Deferred[T]], Outcome]
    ) -> Deferred[T]:
        """Take a step of the state machine, which answers through its outcome.

        Raises what ``at`` and ``step`` raise.
        """
        loaded = self.at(broker, key)
        reply: Deferred[T] = Deferred()
        self.run(loaded, key, step(loaded.shard, reply))
        return reply

    def read(
        self,
        broker: CoordinatingBroker | None,
        key: str,
        question: Callable[Concatenate[S, P], T],
        *args: P.args,
        **named: P.kwargs,
    ) -> Deferred[T]:
        """The result of ``question`` on the shard of a key, or the KafkaError that it raises, once the state that it read is
        committed, which is usually now.

        Raises what ``at`` raises; fails with what ``question`` raises, or NOT_COORDINATOR if the state may be undone.
        """
        loaded = self.at(broker, key)
        committed = loaded.committed(key) or Deferred.completed(None)
        return _after(committed, partial(question, loaded.shard, *args, **named))

    def look(
        self, broker: CoordinatingBroker | None, key: str, question: Callable[[S, R], T], request: R
    ) -> T | Deferred[T]:
        """As ``read``, but without a wait if the state is committed: then it returns or raises what ``question`` does. It is for
        the requests that consumers repeat, where a wait that is done is most of what a read costs.
        """
        loaded = self.at(broker, key)
        committed = loaded.committed(key)
        if committed is None:
            return question(loaded.shard, request)
        return _after(committed, partial(question, loaded.shard, request))

    def touch(
        self, broker: CoordinatingBroker | None, key: str, heartbeat: Callable[[S, R], T], request: R
    ) -> T | Deferred[T]:
        """As ``look``, for what puts off a deadline of the key and persists nothing."""
        loaded = self.at(broker, key)
        committed = loaded.committed(key)
        found: T | Deferred[T]
        if committed is None:
            found = heartbeat(loaded.shard, request)
        else:
            found = _after(committed, partial(heartbeat, loaded.shard, request))
        self._deadlines.arm(loaded, key)
        return found

    def read_each(
        self,
        broker: CoordinatingBroker,
        keys: Callable[[S], Iterable[str]],
        question: Callable[[S, str], T | None],
        weight: float,
    ) -> Work[list[T]]:
        """The results of ``question`` for the keys of all shards that the broker leads, in slices; None is left out, as
        for a key that is gone. ``weight`` is that of a question. Raises what ``at`` raises, and NOT_COORDINATOR if a
        shard moves meanwhile; fails with it if the state may be undone.
        """
        found: list[T] = []
        uncommitted: list[Deferred[None]] = []
        for loaded in list(self.shards.led_by(broker)):
            for key in list(keys(loaded.shard)):
                if not self.shards.is_in_use(loaded):
                    raise KafkaError(ErrorCode.NOT_COORDINATOR)
                result = question(loaded.shard, key)
                if result is not None:
                    found.append(result)
                yield weight
            committed = loaded.committed(None)
            if committed is not None:
                uncommitted.append(committed.recover(Exception, _look_again))
        return gather(uncommitted).map(lambda _: found) if uncommitted else found

    # Outcomes

    def run(self, loaded: Loaded[S], key: str | None, outcome: Outcome) -> None:
        """Carry out an outcome and its further steps; ``key`` is the one whose deadlines it may have changed.

        Replies are sent last, when the state is consistent: a client may send its next request at once.
        """
        replies: Replies = []
        effects: list[Any] = []
        step: Outcome | None = outcome
        while step is not None:
            failure = self.append(loaded, step)
            if failure is None:
                effects += step.effects
            if failure is None or step.otherwise is not None:
                replies += step.replies
            else:
                replies += ((waiting, KafkaError(failure)) for waiting, _ in step.replies)
            step = _follow_up(step, failure)
        if key is not None:
            self._deadlines.arm(loaded, key)
        if not (effects or replies):
            return
        committed = loaded.committed(key)
        if committed is None:
            self._finish(loaded, effects, replies)
            return
        finished = committed.map(lambda _: self._finish(loaded, effects, replies))
        finished.recover(Exception, partial(_send_failure, replies)).or_log("answering for a coordinator")

    def append(self, loaded: Loaded[S], outcome: Outcome) -> ErrorCode | None:
        """Append and replay the records of one step; returns the error code for clients."""
        if not outcome.records:
            return None
        if not self.shards.is_in_use(loaded):
            return ErrorCode.NOT_COORDINATOR  # the partition moved while this waited
        return append(loaded, outcome, self._codec, self._host.runtime.clock.now_ms())

    def append_parts(self, loaded: Loaded[S], parts: Iterator[Part]) -> Steps:
        """Append one part after the other, with requests in between."""
        while self.shards.is_in_use(loaded):
            part = next(parts, None)
            if part is None or self.append(loaded, Outcome(part.records, atomic=False)) not in GOES_ON:
                return
            yield part.weight

    def _finish(self, loaded: Loaded[S], effects: list[Any], replies: Replies) -> None:
        if self._effects is not None:
            for effect in effects:
                self._effects(loaded, effect)
        _send(replies)

    # Time, and the lifecycle of shards

    def _tick(self, loaded: Loaded[S], key: str) -> None:
        if self.shards.is_in_use(loaded):
            self._deadlines.disarm(loaded, key)
            self.run(loaded, key, loaded.shard.tick(key))

    def _opened(self, loaded: Loaded[S]) -> None:
        loaded.to_begin.update(dict.fromkeys(loaded.shard.loaded()))
        if loaded.to_begin:
            self._host.runtime.slices.add(self._begin_all(loaded))
        self._told_opened(loaded)

    def _begin_all(self, loaded: Loaded[S]) -> Steps:
        """Begin all loaded keys in slices; a request for a key (``at``) does not wait for its slice."""
        return independently(self._begin_in_its_turn(loaded, key) for key in list(loaded.to_begin))

    def _begin_in_its_turn(self, loaded: Loaded[S], key: str) -> Steps:
        if key in loaded.to_begin and self.shards.is_in_use(loaded):
            self._begin(loaded, key)
            yield _BEGIN_WEIGHT

    def _begin(self, loaded: Loaded[S], key: str) -> None:
        del loaded.to_begin[key]
        self.run(loaded, key, loaded.shard.begin(key))

    def _dropped(self, loaded: Loaded[S]) -> None:
        """Answer all requests that wait in an unloaded shard with NOT_COORDINATOR."""
        _send(loaded.shard.unload().replies)
        disarm_all(loaded)


def _follow_up(outcome: Outcome, failure: ErrorCode | None) -> Outcome | None:
    if failure is not None:
        return None if outcome.otherwise is None else outcome.otherwise(failure)
    return None if outcome.then is None else outcome.then()


def _send(replies: Replies) -> None:
    for waiting, response in replies:
        if isinstance(response, KafkaError):
            waiting.fail(response)
        else:
            waiting.complete(response)


def _send_failure(replies: Replies, error: Exception) -> None:
    """The state behind the replies may be undone: all fail, so that clients look up the coordinator again."""
    log.warning("Coordinator records cannot be committed: %s", error)
    _send([(waiting, KafkaError(ErrorCode.NOT_COORDINATOR)) for waiting, _ in replies])


def _look_again(error: Exception) -> None:
    log.warning("Coordinator records cannot be committed: %s", error)
    raise KafkaError(ErrorCode.NOT_COORDINATOR) from error


def _after(committed: Deferred[None], question: Callable[[], T]) -> Deferred[T]:
    """What ``question`` returns now, or the KafkaError that it raises, once ``committed`` is done."""
    found = attempt(lambda: Deferred.completed(question()))
    return committed.recover(Exception, _look_again).chain(lambda _: found)
