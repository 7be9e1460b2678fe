"""The one way into the metadata log: decide, append, sync, publish, one change after the other.

A change is decided when its turn comes, on the image that the one before has published, so what two clients ask for at the
same time is never planned on the same state. Its records are appended to the log in one batch and synced in a thread; only
then are they replayed into the image, the subscribers are told, and the caller has the result. So an answer is never ahead of
the log, what subscribers prepare (partitions, shards) is ready before a client can see it, and the loop never waits for the
disk. What a subscriber or a caller asks for meanwhile has its turn later.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pykbroker.metadata.answers import Answers
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.quorum import Quorum
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.metadata.source import Subscriber
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.waits import Deferred, attempt

if TYPE_CHECKING:
    from pykbroker.storage.log.reading import ReadPlan

log = logging.getLogger(__name__)

T = TypeVar("T")

#: What becomes of a request for a change: the records that make it, perhaps none, and what the caller is told.
Decision = tuple[Sequence[MetadataRecord], T]


#: Told of the records of a change in the turn in which they are appended; what it returns is done in a thread before they are
#: synced, for it waits for the disk.
Preparation = Callable[[Sequence[MetadataRecord]], Callable[[], None] | None]


class RecordLog(Protocol):
    """Where decisions are kept: an ordered log of metadata records."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record will get."""
        ...

    @property
    def start_offset(self) -> int:
        """The first offset that is there."""
        ...

    def plan_read(self, offset: int, max_bytes: int, upper_offset: int) -> ReadPlan | None:
        """A read of whole batches below ``upper_offset``, for somebody who looks. Raises OFFSET_OUT_OF_RANGE."""
        ...

    @property
    def epoch(self) -> int:
        """The leader epoch that records are appended under."""
        ...

    @property
    def quorum(self) -> Quorum:
        """Who votes on the log: this process alone."""
        ...

    @property
    def snapshot_due(self) -> bool:
        """Whether reading the log again would take much longer than reading a snapshot."""
        ...

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """Write the records; ``sync`` makes them durable, or says that not all could be written. Returns the first one's offset.
        Raises KAFKA_STORAGE_ERROR where none could.
        """
        ...

    def sync(self, first: int) -> None:
        """Have what was appended from offset ``first`` on survive a power loss, or take it back. For any thread, which waits
        for the disk. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        ...

    def take_back(self, first: int) -> None:
        """Forget what was appended from offset ``first`` on, which no thread could be found to sync."""
        ...

    def write_snapshot(self, image: MetadataImage) -> None:
        """Write a snapshot of the image, which stands at the end of the log and stays as it is. For any thread, which waits
        for the disk.
        """
        ...

    def snapshot_ended(self, error: BaseException | None) -> None:
        """Let go of what the snapshot replaces, or note that there is none."""
        ...


@dataclass(slots=True, eq=False)
class _Change:
    """One that was asked for; ``first`` is the offset of its records once they are appended."""

    decide: Callable[[], Decision[Any]]
    done: Deferred[Any]
    records: Sequence[MetadataRecord] = ()
    result: Any = None
    first: int = -1
    prepare: Callable[[], None] | None = None


class Commits:
    """See the module."""

    def __init__(self, log: RecordLog, image: MetadataImage, runtime: Runtime) -> None:
        self.image = image
        #: Metadata answers given since the last change.
        self.answers = Answers()
        self.log = log
        self._runtime = runtime
        self._subscribers: list[Subscriber] = []
        self._preparation: Preparation | None = None
        self._asked: deque[_Change] = deque()
        #: Appended, and not published yet.
        self._under_way: _Change | None = None
        self._writes_snapshot = False
        self._advancing = False

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call ``subscriber(image, delta)`` after each change, before who asked for it has the result."""
        self._subscribers.append(subscriber)

    def prepare_with(self, preparation: Preparation) -> None:
        """Have something done before records are in the log for good."""
        self._preparation = preparation

    def decide(self, decide: Callable[[], Decision[T]]) -> Deferred[T]:
        """Call ``decide`` when its turn comes, and make what it decides; its result, once that is durable and published.

        Fails with what ``decide`` raises, and with KAFKA_STORAGE_ERROR where the log cannot take the records: then nothing
        has changed.
        """
        change = _Change(decide, Deferred())
        self._asked.append(change)
        self._advance()
        return change.done

    def commit_now(self, records: Sequence[MetadataRecord]) -> None:
        """Append, sync and publish in this turn, which waits for the disk: for the start and the end of the process.

        Raises KafkaError KAFKA_STORAGE_ERROR when the log cannot take the records: then nothing has changed.
        """
        if records:
            prepare, first = self._append(records)
            self._sync(prepare, first)
            self._publish(records, first)

    def finish_now(self) -> None:
        """Bring what was appended already to its end, and forget what has not begun: the process ends, its threads have
        ended, and nobody is left to take an answer. Raises what ``commit_now`` raises.
        """
        self._asked.clear()
        change, self._under_way = self._under_way, None
        if change is not None:
            self._sync(change.prepare, change.first)
            self._publish(change.records, change.first)

    def _advance(self) -> None:
        """Begin what has its turn. One that needs no record is over at once, and so is one whose sync needs no thread."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._asked and self._under_way is None and not self._writes_snapshot:
                self._begin(self._asked.popleft())
        finally:
            self._advancing = False

    def _begin(self, change: _Change) -> None:
        try:
            change.records, change.result = change.decide()
            if change.records:
                change.prepare, change.first = self._append(change.records)
        except Exception as error:  # noqa: BLE001 - who asked looks at it
            change.done.fail(error)
            return
        if not change.records:
            change.done.complete(change.result)
            return
        self._under_way = change
        synced = attempt(self._runtime.offload, self._sync, change.prepare, change.first).recover(
            RuntimeError, partial(self._no_thread, change)
        )
        synced.map(lambda _: self._synced(change)).pass_to(change.done)
        synced.settled().map(lambda _: self._ended(change)).or_log("going on after a change of the metadata")

    def _no_thread(self, change: _Change, error: RuntimeError) -> None:
        """Else the log would hold what was refused, and the next start would find it. Raises the error."""
        if self._under_way is change:
            self.log.take_back(change.first)
        raise error

    def _append(self, records: Sequence[MetadataRecord]) -> tuple[Callable[[], None] | None, int]:
        """What is to be done before the records are synced, and their first offset."""
        prepare = None if self._preparation is None else self._preparation(records)
        return prepare, self.log.append(records)

    def _sync(self, prepare: Callable[[], None] | None, first: int) -> None:
        """Waits for the disk."""
        if prepare is not None:
            prepare()
        self.log.sync(first)

    def _synced(self, change: _Change) -> Any:
        if self._under_way is change:  # else the process ends, and did it itself
            self._publish(change.records, change.first)
        return change.result

    def _ended(self, change: _Change) -> None:
        if self._under_way is change:
            self._under_way = None
            if self.log.snapshot_due:
                self._write_snapshot()
            self._advance()

    def _publish(self, records: Sequence[MetadataRecord], first: int) -> None:
        self.answers.forget()
        delta = MetadataDelta()
        for record in records:
            replay(self.image, record, delta)
        self.image.offset = first + len(records) - 1
        self.image.epoch = self.log.epoch
        self._tell(delta)

    def _tell(self, delta: MetadataDelta) -> None:
        """All subscribers, whatever one of them raises: an access list that was added must reach those who check it. Raises the
        first of the errors, when all are told.
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
        """In a thread; until it is written the image stays as it is, and the next change waits."""
        self._writes_snapshot = True
        written = attempt(self._runtime.offload, self.log.write_snapshot, self.image)
        noted = written.map(lambda _: self.log.snapshot_ended(None)).recover(Exception, self.log.snapshot_ended)
        noted.settled().map(self._snapshot_over).or_log("going on after a snapshot of the metadata")

    def _snapshot_over(self, _: None) -> None:
        self._writes_snapshot = False
        self._advance()
