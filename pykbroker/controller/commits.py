"""The one way into the metadata log: decide, append, sync, publish, one change after the other.

A change is decided in its turn, on the image that the previous one has published, so concurrent requests are never planned on
the same state. Its records are appended to the log in one batch and synced in a thread; then they are replayed into the image,
subscribers are notified, and the caller gets the result. So no answer is ahead of the log, partitions and shards are ready
before a client can see them, and the loop never waits for the disk. Changes requested meanwhile are queued.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykbroker.metadata.answers import Answers
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.quorum import Quorum, sets_voters
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.slices import WEIGHT_OF_A_TURN, Work
from pykbroker.runtime.waits import Deferred, as_wait, attempt

if TYPE_CHECKING:
    from pykbroker.metadata.replay_ahead import Ahead
    from pykbroker.metadata.source import Readying, Subscriber
    from pykbroker.storage.log.reading import ReadPlan

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class RecordLog(Protocol):
        """An ordered log of metadata records."""

        @property
        def end_offset(self) -> int:
            """The offset that the next record will get."""
            ...

        @property
        def start_offset(self) -> int:
            """The first offset in the log."""
            ...

        def plan_read(self, offset: int, max_bytes: int, upper_offset: int) -> ReadPlan | None:
            """A read of whole batches below ``upper_offset``, for inspection. Raises KafkaError OFFSET_OUT_OF_RANGE."""
            ...

        @property
        def epoch(self) -> int:
            """The leader epoch of appended records."""
            ...

        @property
        def quorum(self) -> Quorum:
            """The quorum of the log, whose only voter is this process."""
            ...

        @property
        def snapshot_due(self) -> bool:
            """Whether a snapshot is worth writing: the log since the last one is longer than it."""
            ...

        def append(self, records: Sequence[MetadataRecord]) -> int:
            """Write the records; ``sync`` makes them durable, or fails if not all were written. Returns the first offset.
            Raises KafkaError KAFKA_STORAGE_ERROR if none was written.
            """
            ...

        def encode(self, records: Sequence[MetadataRecord]) -> Generator[float, None, list[bytes]]:
            """Encode many records in slices, for ``append_encoded``; nothing is appended meanwhile."""
            ...

        def append_encoded(self, batches: Sequence[bytes]) -> int:
            """Write encoded records, as ``append`` does."""
            ...

        def sync(self, first: int) -> None:
            """Sync what was appended from offset ``first`` on, or take it back. In any thread, which waits for the disk. Raises
            KafkaError KAFKA_STORAGE_ERROR.
            """
            ...

        def take_back(self, first: int) -> None:
            """Take back what was appended from offset ``first`` on, since no thread could be started to sync it."""
            ...

        def write_snapshot(self, image: MetadataImage) -> None:
            """Write a snapshot of the image, which is at the log end and does not change meanwhile. In any thread, which waits
            for the disk.
            """
            ...

        def snapshot_ended(self, error: BaseException | None) -> None:
            """Remove what the snapshot replaces, or log the ``error`` with which it failed."""
            ...


log = logging.getLogger(__name__)

T = TypeVar("T")

#: The decision about a change: its records, possibly none, and the result for the caller.
Decision = tuple[Sequence[MetadataRecord], T]
#: The same, or the steps to it, during which the image does not change.
Deciding = Decision[T] | Generator[float, None, Decision[T]]
#: The records of a change without a result, or the steps to them.
Records = list[MetadataRecord] | Generator[float, None, list[MetadataRecord]]
#: Records from which on a change is encoded and worked out in slices, and how many of it are published at once where they need not be seen
#: together.
MANY = 300

#: Called with the records of a change in the turn in which they are appended; a thread does the work that it returns before
#: they are synced, since that waits for the disk.
Preparation = Callable[[Sequence[MetadataRecord]], Callable[[], None] | None]


@dataclass(slots=True, eq=False)
class _Change:
    """A requested change; ``first`` is the offset of its records once they are appended. Those that are published leave ``records``."""

    decide: Callable[[], Deciding[Any]]
    done: Deferred[Any]
    records: Sequence[MetadataRecord] = ()
    result: Any = None
    first: int = -1
    prepare: Callable[[], None] | None = None


class Commits:
    """See the module."""

    def __init__(self, log: RecordLog, image: MetadataImage, runtime: Runtime) -> None:
        self.image = image
        #: Cached Metadata answers since the last change.
        self.answers = Answers()
        self.log = log
        self._runtime = runtime
        self._subscribers: list[Subscriber] = []
        self._readying: list[Readying] = []
        self._preparation: Preparation | None = None
        self._requested: deque[_Change] = deque()
        #: The change that is being decided, or is appended and not published yet.
        self._under_way: _Change | None = None
        self._writes_snapshot = False
        self._advancing = False

    def subscribe(self, subscriber: Subscriber, readying: Readying | None = None) -> Callable[[], None]:
        """Call ``subscriber(image, delta)`` after each change, before its caller gets the result. ``readying``: see
        ``metadata/source.py``. Returns the function that ends the subscription.
        """
        self._subscribers.append(subscriber)
        if readying is not None:
            self._readying.append(readying)

        def end() -> None:
            self._subscribers = [each for each in self._subscribers if each is not subscriber]
            self._readying = [each for each in self._readying if each is not readying]

        return end

    def prepare_with(self, preparation: Preparation) -> None:
        """Call ``preparation`` with the records of each change before they are synced."""
        self._preparation = preparation

    def decide(self, decide: Callable[[], Deciding[T]]) -> Deferred[T]:
        """Call ``decide`` in its turn, and commit its decision; its result, once that is durable and published.

        Fails with what ``decide`` raises, and with KafkaError KAFKA_STORAGE_ERROR if the log cannot be written: then nothing
        has changed.
        """
        change = _Change(decide, Deferred())
        self._requested.append(change)
        self._advance()
        return change.done

    def commit_now(self, records: Sequence[MetadataRecord]) -> None:
        """Append, sync and publish in this turn, which waits for the disk: for the start and the end of the process.

        Raises KafkaError KAFKA_STORAGE_ERROR if the log cannot be written: then nothing has changed.
        """
        if records:
            prepare, first = self._append(records)
            self._sync(prepare, first)
            self._publish(records)

    def finish_now(self) -> None:
        """Complete the change that is appended, and drop the queued ones: the process and its threads end, and no client waits
        for an answer. Raises what ``commit_now`` raises.
        """
        self._requested.clear()
        change, self._under_way = self._under_way, None
        if change is not None and change.first >= 0:
            self._sync(change.prepare, change.first)
            self._publish(change.records)

    def _advance(self) -> None:
        """Begin queued changes. One without records, or whose sync needs no thread, is completed at once."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._requested and self._under_way is None and not self._writes_snapshot:
                self._begin(self._requested.popleft())
        finally:
            self._advancing = False

    def _begin(self, change: _Change) -> None:
        self._under_way = change
        try:
            found = change.decide()
            decided = found if isinstance(found, tuple) else self._runtime.slices.run(found)
            written = (
                decided.chain(partial(self._decided_later, change))
                if isinstance(decided, Deferred)
                else self._decided(change, decided)
            )
        except Exception as error:  # noqa: BLE001 - passed to the caller
            self._under_way = None
            change.done.fail(error)
            return
        if written is None:
            self._under_way = None
            change.done.complete(change.result)
            return
        written.pass_to(change.done)
        written.settled().map(lambda _: self._ended(change)).or_log("going on after a change of the metadata")

    def _decided_later(self, change: _Change, decision: Decision[Any]) -> Deferred[Any]:
        if self._under_way is not change:  # the process is ending
            return Deferred()
        return self._decided(change, decision) or Deferred.completed(change.result)

    def _decided(self, change: _Change, decision: Decision[Any]) -> Deferred[Any] | None:
        """Append, sync and publish; the wait for the result, None if there are no records. Raises KafkaError KAFKA_STORAGE_ERROR."""
        change.records, change.result = decision
        if not change.records:
            return None
        if len(change.records) >= MANY:
            work = self._runtime.slices.run(self._append_in_slices(change))
            return (
                as_wait(work)
                .chain(lambda _: self._synced_in_thread(change))
                .chain(lambda _: self._publish_many(change))
            )
        change.prepare, change.first = self._append(change.records)
        return self._synced_in_thread(change).map(lambda _: self._synced(change))

    def _synced_in_thread(self, change: _Change) -> Deferred[None]:
        return attempt(self._runtime.offload, self._sync, change.prepare, change.first).recover(
            RuntimeError, partial(self._no_thread, change)
        )

    def _append_in_slices(self, change: _Change) -> Work[None]:
        batches = yield from self.log.encode(change.records)
        yield WEIGHT_OF_A_TURN  # that room is made is enough for a turn
        if self._under_way is not change:
            return Deferred()  # the process is ending: nobody waits
        change.prepare = None if self._preparation is None else self._preparation(change.records)
        change.first = self.log.append_encoded(batches)
        return None

    def _publish_many(self, change: _Change) -> Deferred[Any]:
        return as_wait(self._runtime.slices.run(self._publish_in_slices(change)))

    def _publish_in_slices(self, change: _Change) -> Work[Any]:
        """Work out what the records do, and let subscribers make ready; then publish in one turn, or some in each. Raises the first error of a
        subscriber, once all is published.
        """
        from pykbroker.metadata.replay_ahead import seen_at_once, work_out

        failed: Exception | None = None
        at_once = seen_at_once(change.records, MANY)
        while change.records:
            some = change.records[:at_once]
            ahead = yield from work_out(self.image, some)
            if ahead is not None:
                for readying in list(self._readying):
                    yield from readying(ahead.changes)
            yield WEIGHT_OF_A_TURN  # that this is seen at once is enough for a turn
            if self._under_way is not change:
                break  # the process is ending and has completed it
            change.records = change.records[at_once:]
            try:
                self._publish(some, ahead, whole=not change.records)
            except Exception as error:  # noqa: BLE001 - the rest is written, too
                failed = failed or error
            yield WEIGHT_OF_A_TURN  # what follows, in the end the answer, has its own
        if failed is not None:
            raise failed
        return change.result

    def _no_thread(self, change: _Change, error: RuntimeError) -> None:
        """Take the records back, since the next start would replay a refused change. Raises the error."""
        if self._under_way is change:
            self.log.take_back(change.first)
        raise error

    def _append(self, records: Sequence[MetadataRecord]) -> tuple[Callable[[], None] | None, int]:
        """Append; returns the work to do before the sync, and the first offset."""
        prepare = None if self._preparation is None else self._preparation(records)
        return prepare, self.log.append(records)

    def _sync(self, prepare: Callable[[], None] | None, first: int) -> None:
        """Do the work, then sync; waits for the disk."""
        if prepare is not None:
            prepare()
        self.log.sync(first)

    def _synced(self, change: _Change) -> Any:
        if self._under_way is change:  # otherwise the process is ending and has completed it
            self._publish(change.records)
        return change.result

    def _ended(self, change: _Change) -> None:
        if self._under_way is change:
            self._under_way = None
            if self.log.snapshot_due:
                self._write_snapshot()
            self._advance()

    def _publish(self, records: Sequence[MetadataRecord], ahead: Ahead | None = None, *, whole: bool = True) -> None:
        """Let the records be seen; the image is at the offset of a change once it has the ``whole`` of it."""
        self.answers.forget()
        delta = MetadataDelta()
        if ahead is not None:
            ahead.apply(self.image, delta)
        for record in records if ahead is None else ():
            if sets_voters(record):
                self.log.quorum.adopt(record)
                self.image.kraft_version = self.log.quorum.kraft_version
            else:
                replay(self.image, record, delta)
        if whole:
            self.image.offset = self.log.end_offset - 1
            self.image.epoch = self.log.epoch
        self._tell(delta)

    def _tell(self, delta: MetadataDelta) -> None:
        """Notify all subscribers, even if one fails: an added access list must reach those that check it. Raises the first of
        the errors, once all are notified.
        """
        first: Exception | None = None
        for subscriber in self._subscribers:
            try:
                subscriber(self.image, delta)
            except Exception as error:
                log.exception("Unhandled error in a subscriber of the metadata; the others are told")
                first = first or error
        if first is not None:
            raise first

    def _write_snapshot(self) -> None:
        """Write a snapshot in a thread; the next change waits, so that the image does not change meanwhile."""
        self._writes_snapshot = True
        written = attempt(self._runtime.offload, self.log.write_snapshot, self.image)
        noted = written.map(lambda _: self.log.snapshot_ended(None)).recover(Exception, self.log.snapshot_ended)
        noted.settled().map(self._snapshot_over).or_log("going on after a snapshot of the metadata")

    def _snapshot_over(self, _: None) -> None:
        self._writes_snapshot = False
        self._advance()
