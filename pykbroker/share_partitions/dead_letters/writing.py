"""Writes dead letters: first finds those that are there already, if a broker may have been killed, then appends the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from pykbroker.runtime.waiting_work import WaitingWork, carry_out
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.dead_letters.letters import LetterForm, fits, size_of
from pykbroker.share_partitions.dead_letters.offsets import GivenUpOffsets
from pykbroker.share_partitions.dead_letters.places import LocalLetters
from pykbroker.share_partitions.dead_letters.reading import records_between
from pykbroker.share_partitions.dead_letters.topic import DeadLetterTopics
from pykbroker.wire.batch_header import HEADER_SIZE
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record

if TYPE_CHECKING:
    from pykbroker.coordination.share.state import SharePartitionKey
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.share_partitions.dead_letters.places import LetterPlace
    from pykbroker.share_partitions.group_settings import ShareGroupSettings
    from pykbroker.share_partitions.host import ShareHost
    from pykbroker.share_partitions.states import GivenUp

T = TypeVar("T")

#: Attempts to create the topic, to find its leader, and to write there.
_ATTEMPTS: Final = 5
#: The pause before a second attempt, in milliseconds, doubled each time up to the longest.
_FIRST_PAUSE_MS: Final = 1000
_LONGEST_PAUSE_MS: Final = 30_000
#: Letters of a batch, which one step encodes and appends, and the weight of one (``runtime/slices.py``).
_AT_ONCE: Final = 50
_WEIGHT: Final = 2
#: The weight of decoding and looking at a record of the dead-letter topic, or of one that is copied.
_LOOKING: Final = 2
_AGAIN: Final = (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
#: The topic's leader changes, is not reached, or has not heard of the topic yet, or its replicas come back. (Apache Kafka goes on after the
#: first three.)
_PASSING: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)


def pause_before(attempt: int, runtime: Runtime) -> Deferred[None]:
    """The pause before an attempt after the first one, which is 0."""
    return runtime.timers.pause(min(_FIRST_PAUSE_MS << min(attempt - 1, 5), _LONGEST_PAUSE_MS))


class LetterSource(Protocol):
    """The share partition of what was given up; its members may be served by another broker any time (``has_ended``)."""

    key: SharePartitionKey
    partition: Partition
    settings: ShareGroupSettings
    has_ended: bool


@dataclass(slots=True)
class _LetterBatch:
    letters: list[Record] = field(default_factory=list)
    size: int = HEADER_SIZE

    def has_room(self, letter: Record, most: int) -> bool:
        return len(self.letters) < _AT_ONCE and self.size + size_of(letter) <= most

    def add(self, letter: Record) -> None:
        self.letters.append(letter)
        self.size += size_of(letter)


class DeadLetters:
    """See the module."""

    def __init__(self, host: ShareHost) -> None:
        self._host = host
        self._topics = DeadLetterTopics(host)
        #: How many were appended, by group.
        self.written: Counter[str] = Counter()

    def write(self, source: LetterSource, given_up: Sequence[GivenUp], since_ms: int | None = None) -> Deferred[None]:
        """Write a letter for each offset; completes when they are committed. With ``since_ms``, letters that are there already are
        not written again: none of them is older. A record that is not in the log any more, and one that the topic does not
        take, has a letter without its key and value.

        Fails with KafkaError INVALID_CONFIG where there may be no letters, NOT_LEADER_OR_FOLLOWER if the source has ended or
        the topic has no leader, and with the errors of a creation and an append.
        """
        return carry_out(self._host.runtime.slices, self._writing(source, given_up, since_ms))

    def _writing(self, source: LetterSource, given_up: Sequence[GivenUp], since_ms: int | None) -> WaitingWork[None]:
        form = LetterForm(source.key.group_id, source.partition.topic, source.partition.index)
        written: set[int] = set()
        most = yield from self._at_leader(
            source, partial(self._look, form, GivenUpOffsets(given_up), since_ms, written)
        )
        batch = _LetterBatch()
        for each in given_up:
            for letter in self._letters(source, form, each, most, written):
                if not isinstance(letter, Record):
                    yield letter
                    continue
                if batch.letters and not batch.has_room(letter, most):
                    yield from self._append(source, form, batch.letters)
                    batch = _LetterBatch()
                batch.add(letter)
        if batch.letters:
            yield from self._append(source, form, batch.letters)

    # The topic

    def _at_leader(self, source: LetterSource, work: Callable[[LetterPlace, int], WaitingWork[T]]) -> WaitingWork[T]:
        """The result of ``work`` where the topic is led now, which is given the number of the attempt; once more if what it fails with passes."""
        error = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for number in range(_ATTEMPTS):
            if number:
                yield pause_before(number, self._host.runtime)
            place = yield from self._target(source)
            if source.has_ended:
                break
            try:
                return (yield from work(place, number))
            except KafkaError as failed:
                if failed.code not in _PASSING:
                    raise
                error = failed
        raise error

    def _target(self, source: LetterSource) -> WaitingWork[LetterPlace]:
        """The partition of the topic, at its leader."""
        for number in range(_ATTEMPTS):
            if number:
                yield pause_before(number, self._host.runtime)
            name = source.settings.dead_letter_topic
            self._topics.check(name)
            created = self._topics.create(name)
            yield created
            if isinstance(created.error, KafkaError) and created.error.code in _AGAIN:
                continue
            _ = created.value
            found = self._topics.find(name, source.partition.index)
            if found is not None:
                if found in self._host.dormant.partitions:
                    yield self._host.dormant.open([found])
                return LocalLetters(self._host.runtime, found)
            remote = self._topics.find_remote(name, source.partition.index)
            if remote is not None:
                return remote
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the dead-letter topic has no leader")

    def _look(
        self,
        form: LetterForm,
        wanted: GivenUpOffsets,
        since_ms: int | None,
        written: set[int],
        place: LetterPlace,
        _: int,
    ) -> WaitingWork[int]:
        """Find the wanted offsets whose letters are written already, since a time if one is given; the most bytes of a batch."""
        if since_ms is not None:
            yield from _search(place, form, wanted, since_ms, written)
        return place.most_bytes

    # Letters

    def _letters(
        self, source: LetterSource, form: LetterForm, given_up: GivenUp, most: int, written: Container[int]
    ) -> Iterator[Record | float | Deferred[None]]:
        """The letters that are not ``written``; weights and waits in between."""
        now_ms = self._host.runtime.clock.now_ms()
        following = given_up.first

        def bare(first: int, end: int) -> Iterator[Record | float]:
            for offset in range(first, end):
                if offset in written:
                    yield _LOOKING
                else:
                    yield form.letter(offset, given_up, now_ms, None)

        for found in self._copied(source, given_up):
            if isinstance(found, Deferred):
                yield found
                continue
            for record in found:
                yield from bare(following, record.offset)
                following = record.offset
                letter = form.letter(record.offset, given_up, now_ms, record)
                if record.offset not in written and fits(letter, most):
                    yield letter
                    following += 1
            yield _LOOKING * len(found)
        yield from bare(following, given_up.last + 1)

    def _copied(self, source: LetterSource, given_up: GivenUp) -> Iterator[list[Record] | Deferred[None]]:
        """The records themselves, if the group wants copies of them, as far as the log has them."""
        if not source.settings.copies_dead_letters:
            return
        end = min(given_up.last + 1, source.partition.high_watermark)
        try:
            yield from records_between(self._host.runtime, source.partition, given_up.first, end)
        except KafkaError:
            return  # retention has removed them meanwhile

    # The log

    def _append(self, source: LetterSource, form: LetterForm, letters: list[Record]) -> WaitingWork[None]:
        """Append letters where their topic is led now, until they are committed: what was appended before the leader changed may be lost,
        and what is not is not appended again. The share partition must be the one that may: another one finds what is written before
        it writes.
        """
        count, since_ms = len(letters), letters[0].timestamp

        def work(place: LetterPlace, number: int) -> WaitingWork[None]:
            written: set[int] = set()
            if number:
                wanted = {form.offset_of(each) or 0 for each in letters}
                yield from _search(place, form, wanted, since_ms, written)
            if source.has_ended:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            committed = place.append([each for each in letters if form.offset_of(each) not in written])
            yield committed
            return committed.value

        yield from self._at_leader(source, work)
        self.written[source.key.group_id] += count
        yield _WEIGHT * count


def _search(
    place: LetterPlace, form: LetterForm, wanted: GivenUpOffsets | set[int], since_ms: int, written: set[int]
) -> WaitingWork[None]:
    """Find the wanted offsets whose letters are written already."""
    for found in place.since(since_ms):
        if isinstance(found, Deferred):
            yield found
            continue
        for record in found:
            offset = form.offset_of(record)
            if offset is not None and offset in wanted:
                written.add(offset)
        yield _LOOKING * len(found)
