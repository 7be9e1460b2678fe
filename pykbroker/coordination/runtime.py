"""The runtime of a broker's coordinator of any kind: finds the shard of a key, carries out outcomes, runs deadlines.

A key is a group or a transactional id. State machines (``shard.py``) decide and never write; the runtime appends and replays
their decisions and replies once they are committed. A reply leaves when the state that it was computed from, that of its key, is
committed, including earlier appends for others, so no client sees state that the loss of a disk or a leader could undo.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from pykbroker.coordination.appending import GOES_ON, append, append_encoded
from pykbroker.coordination.deadlines import Deadlines, disarm_all
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.outcome import Decision, EncodedDecision, Outcome, Part
from pykbroker.coordination.placement import partition_for
from pykbroker.coordination.shard import RecordCodec, Shard
from pykbroker.coordination.shards import Loaded, Shards
from pykbroker.runtime.slices import independently
from pykbroker.runtime.waits import Deferred, as_wait, gather
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.partitions.internal_records import CoordinatorBatch
    from pykbroker.runtime.slices import Steps, Work

log = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)
T = TypeVar("T")
P = ParamSpec("P")

#: The weight of beginning a loaded key, of unloading one, and of a reply (``runtime/slices.py``).
_BEGIN_WEIGHT = 5
_UNLOAD_WEIGHT = 0.2
_REPLY_WEIGHT = 2
#: Replies that are sent in one turn: a group may have thousands of members.
_AT_ONCE = 100

#: The interval of checks whether a partition is loaded, in milliseconds, while all are loaded at the start.
_READING_PAUSE_MS = 20

Replies = list[tuple[Deferred[Any], Any]]


class CoordinatorRuntime(Generic[S]):
    """See the module.

    ``partitions`` is the partition count of ``topic`` before it is created. ``new_shard`` creates an empty shard; ``opened``
    is called for each loaded one. ``effects`` carries out an effect of an outcome.
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
    ) -> None:
        self._host = host
        self._topic = topic
        self._partitions = partitions
        self._codec = codec
        self._reported_opened = opened
        self._effects = effects
        self._deadlines: Deadlines[S] = Deadlines(host.runtime, self._tick)
        self.shards: Shards[S] = Shards(
            host,
            topic,
            begin=lambda partition: LogReplay(host.runtime, partition, new_shard(), codec),
            opened=self._opened,
            dropped=self._dropped,
        )

    # Where keys live

    def partition_of(self, key: str) -> int:
        """The index of the partition to which a key belongs."""
        topic = self._host.metadata.image.topics.get(self._topic)
        return partition_for(key, self._partitions if topic is None else len(topic.partitions))

    def at(self, key: str) -> Loaded[S]:
        """The shard of a key, after doing what is due for the key.

        Raises KafkaError NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
        """
        topic = self._host.metadata.image.topics.get(self._topic)  # ``partition_of``, in place: each request comes here
        index = partition_for(key, self._partitions if topic is None else len(topic.partitions))
        loaded = self.shards.loaded.get(index)
        if loaded is None or loaded.partition.leader != self._host.node_id:
            loaded = self.shards.at(index)
        if key in loaded.to_begin:
            self._begin(loaded, key)
        alarm = loaded.alarms.get(key)
        if alarm is not None and alarm[0] <= self._host.runtime.clock.monotonic():  # it waits for its slice
            self._tick(loaded, key)
        return loaded

    def load_all(self, index: int = 0) -> None:
        """Load every partition from ``index`` on that the broker leads, one in each turn of the loop, so that transactions that
        were prepared when the process ended are completed without a request.
        """
        if self._host.partition(self._topic, index) is None:
            return
        following, pause_ms = index + 1, 0
        try:
            self.shards.at(index)
        except KafkaError as error:  # logged already; the next request tries again
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                following, pause_ms = index, _READING_PAUSE_MS
        self._host.runtime.timers.after(pause_ms, partial(self.load_all, following))

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """The metadata has changed: shards move with the leadership of their partitions."""
        del image
        self.shards.follow(delta)

    def close(self) -> None:
        """The broker has stopped: answer what waits, and end all timers."""
        self.shards.drop_all()

    # Requests

    @overload
    def ask(
        self,
        key: str,
        step: Callable[Concatenate[S, P], Decision[T] | EncodedDecision[T]],
        *args: P.args,
        **named: P.kwargs,
    ) -> T | Deferred[T]: ...

    @overload
    def ask(
        self,
        key: str,
        step: Callable[Concatenate[S, P], T | Decision[T] | EncodedDecision[T]],
        *args: P.args,
        **named: P.kwargs,
    ) -> T | Deferred[T]: ...

    def ask(self, key: str, step: Callable[..., Any], *args: Any) -> Any:  # type: ignore[misc]  # no step has keywords
        """Take ``step``, a function of the shard of the key and of ``args``; the one way to ask a coordinator.

        A step that changes what is persisted returns a Decision, or an EncodedDecision; any other returns its answer, and may put off
        deadlines of the key. The answer, or the KafkaError that a step raises, leaves when the state that it comes of is committed: usually at
        once, without a wait.

        Raises what ``at`` and ``step`` raise. Raises or fails with the error of an append, and with NOT_COORDINATOR if the state
        may be undone.
        """
        loaded = self.at(key)
        try:
            found = step(loaded.shard, *args)
        except KafkaError as error:
            committed = loaded.committed(key)
            if committed is None:
                raise
            refusal: Deferred[Any] = Deferred.failed(error)
            return committed.recover(Exception, _look_again).chain(lambda _: refusal)
        if type(found) is Decision:
            answer, outcome = found
            over = self.run(loaded, key, outcome)
            return answer if over is None or isinstance(answer, Deferred) else over.map(lambda _: answer)
        if type(found) is EncodedDecision:
            found, batch, replay = found
            failure = append_encoded(loaded, key, batch, self._host.runtime.clock.now_ms())
            if failure is None:
                replay()
            else:
                found = Deferred.failed(KafkaError(failure))
        self._deadlines.arm(loaded, key)
        committed = loaded.committed(key) if loaded.newest else None
        return found if committed is None else committed.recover(Exception, _look_again).chain(lambda _: as_wait(found))

    def ask_each(self, question: Callable[[S, str], T | None], weight: float) -> Work[list[T]]:
        """The results of ``question`` for the keys of all shards that the broker leads, in slices; None is left out, as
        for a key that is gone. ``weight`` is that of a question. Raises what ``at`` raises, and NOT_COORDINATOR if a
        shard moves meanwhile; fails with it if the state may be undone.
        """
        found: list[T] = []
        uncommitted: list[Deferred[None]] = []
        for loaded in list(self.shards.led()):
            for key in list(loaded.shard.keys()):
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

    def run(self, loaded: Loaded[S], key: str | None, outcome: Outcome) -> Deferred[None] | None:
        """Carry out an outcome and its further steps; ``key`` is the one whose deadlines it may have changed.

        Replies are sent last, when the state is consistent: a client may send its next request at once. Returns the wait for
        that, None if it is over. It fails with the error of an append that nothing of the outcome handles, and with
        NOT_COORDINATOR if the state may be undone.
        """
        replies: Replies = []
        effects: list[Any] = []
        refused: KafkaError | None = None
        step: Outcome | None = outcome
        while step is not None:
            failure = self.append(loaded, step) if step.records else None
            if failure is None:
                effects += step.effects
            if failure is None or step.otherwise is not None:
                replies += step.replies
            else:
                refused = KafkaError(failure)
                replies += ((waiting, refused) for waiting, _ in step.replies)
            if failure is None:
                step = None if step.then is None else step.then()
            else:
                step = None if step.otherwise is None else step.otherwise(failure)
        if key is not None:
            self._deadlines.arm(loaded, key)
        committed = loaded.committed(key) if loaded.newest else None
        over: Deferred[None] | None = None
        if committed is not None:
            finished = committed.map(lambda _: self._finish(loaded, effects, replies))
            over = finished.recover(Exception, partial(self._fail_all, replies))
        elif effects or replies:
            self._finish(loaded, effects, replies)
        if refused is None:
            return over
        failed: Deferred[None] = Deferred.failed(refused)
        return failed if over is None else over.chain(lambda _: failed)

    def append(self, loaded: Loaded[S], outcome: Outcome) -> ErrorCode | None:
        """Append and replay the records of one step; returns the error code for clients."""
        if not outcome.records:
            return None
        if not self.shards.is_in_use(loaded):
            return ErrorCode.NOT_COORDINATOR  # the partition moved while this waited
        return append(loaded, outcome, self._codec, self._host.runtime.clock.now_ms())

    def append_encoded(self, loaded: Loaded[S], key: str, batch: CoordinatorBatch) -> ErrorCode | None:
        """Append a batch of one key that was encoded in slices, which the caller applies; returns the error code for clients."""
        if not self.shards.is_in_use(loaded):
            return ErrorCode.NOT_COORDINATOR
        return append_encoded(loaded, key, batch, self._host.runtime.clock.now_ms())

    def append_parts(self, loaded: Loaded[S], parts: Iterator[Part]) -> Generator[float, None, ErrorCode | None]:
        """Append one part after the other, with requests in between. Returns the error code for clients that ended it."""
        while self.shards.is_in_use(loaded):
            part = next(parts, None)
            if part is None:
                return None
            failure = self.append(loaded, Outcome(part.records, atomic=False))
            if failure not in GOES_ON:
                return failure
            yield part.weight
        return ErrorCode.NOT_COORDINATOR

    def _finish(self, loaded: Loaded[S], effects: list[Any], replies: Replies) -> None:
        if self._effects is not None:
            for effect in effects:
                self._effects(loaded, effect)
        self._send(replies)

    def _send(self, replies: Replies) -> None:
        if len(replies) <= _AT_ONCE:
            for waiting, response in replies:
                _reply(waiting, response)
        else:
            self._host.runtime.slices.begin(_sent(replies))

    def _fail_all(self, replies: Replies, error: Exception) -> None:
        """The state behind the replies may be undone: all fail, so that clients look up the coordinator again. Raises KafkaError
        NOT_COORDINATOR.
        """
        self._send([(waiting, KafkaError(ErrorCode.NOT_COORDINATOR)) for waiting, _ in replies])
        _look_again(error)

    # Time, and the lifecycle of shards

    def _tick(self, loaded: Loaded[S], key: str) -> None:
        if self.shards.is_in_use(loaded):
            self._deadlines.disarm(loaded, key)
            self.run(loaded, key, loaded.shard.tick(key))

    def _opened(self, loaded: Loaded[S]) -> None:
        loaded.to_begin.update(dict.fromkeys(loaded.shard.loaded()))
        if loaded.to_begin:
            self._host.runtime.slices.add(self._begin_all(loaded))
        self._reported_opened(loaded)

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
        disarm_all(loaded)
        keys = loaded.shard.keys()
        self._host.runtime.slices.begin(independently(_unloaded(loaded.shard, key) for key in keys))


def _unloaded(shard: Shard, key: str) -> Steps:
    yield from _sent(shard.unload(key).replies)
    yield _UNLOAD_WEIGHT


def _sent(replies: Replies) -> Steps:
    for waiting, response in replies:
        _reply(waiting, response)
        yield _REPLY_WEIGHT


def _reply(waiting: Deferred[Any], response: Any) -> None:
    if isinstance(response, KafkaError):
        waiting.fail(response)
    else:
        waiting.complete(response)


def _look_again(error: Exception) -> None:
    log.warning("Coordinator records cannot be committed: %s", error)
    raise KafkaError(ErrorCode.NOT_COORDINATOR) from error
