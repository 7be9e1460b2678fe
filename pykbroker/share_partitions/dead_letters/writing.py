"""Writes dead letters: first finds those that are there already, if a broker may have been killed, then appends the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from pykbroker.runtime.waiting_work import WaitingWork, carry_out
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.share_partitions.dead_letters.letters import LetterForm, fits, size_of
from pykbroker.share_partitions.dead_letters.offsets import GivenUpOffsets
from pykbroker.share_partitions.dead_letters.reading import records_between
from pykbroker.share_partitions.dead_letters.topic import DeadLetterTopics
from pykbroker.wire.batch_header import HEADER_SIZE
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from pykbroker.coordination.share.state import SharePartitionKey
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.share_partitions.group_settings import ShareGroupSettings
    from pykbroker.share_partitions.host import ShareHost
    from pykbroker.share_partitions.states import GivenUp

#: Attempts to create the topic, and to find its leader.
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
#: Of an append or its commit: the topic's leader changes, or its replicas come back. (Apache Kafka goes on after the first one alone.)
_PASSING: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
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
        target = yield from self._target(source)
        form = LetterForm(source.key.group_id, source.partition.topic, source.partition.index)
        written: set[int] = set()
        if since_ms is not None:
            yield from self._search(target, form, GivenUpOffsets(given_up), since_ms, written)
        most = min(target.log.config.max_message_bytes, target.log.config.segment_bytes)
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

    def _target(self, source: LetterSource) -> WaitingWork[Partition]:
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
                return found
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the dead-letter topic has no leader")

    def _search(
        self, target: Partition, form: LetterForm, wanted: GivenUpOffsets | set[int], since_ms: int, written: set[int]
    ) -> WaitingWork[None]:
        """Find the wanted offsets whose letters are written already."""
        end = target.log_end_offset
        beginning = self._host.runtime.offload_read(target.log.offset_for_timestamp, since_ms, end)
        yield beginning
        place = beginning.value
        for found in () if place is None else records_between(self._host.runtime, target, place.offset, end):
            if isinstance(found, Deferred):
                yield found
                continue
            for record in found:
                offset = form.offset_of(record)
                if offset is not None and offset in wanted:
                    written.add(offset)
            yield _LOOKING * len(found)

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
        count, since_ms, missing = len(letters), letters[0].timestamp, letters
        error: Exception = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for number in range(_ATTEMPTS):
            if number:
                yield pause_before(number, self._host.runtime)
            target = yield from self._target(source)
            if number:
                written: set[int] = set()
                wanted = {form.offset_of(each) or 0 for each in letters}
                yield from self._search(target, form, wanted, since_ms, written)
                missing = [each for each in letters if form.offset_of(each) not in written]
            if source.has_ended:
                break
            committed = attempt(_appended, target, missing)
            yield committed
            if isinstance(committed.error, KafkaError) and committed.error.code in _PASSING:
                error = committed.error
                continue
            _ = committed.value
            self.written[source.key.group_id] += count
            yield _WEIGHT * count
            return
        raise error


def _appended(target: Partition, letters: list[Record]) -> Deferred[None]:
    """The wait until letters are committed, or without any what is there."""
    if letters:
        committed = target.append_at_once(memoryview(bytearray(encode_batch(letters)))).committed
    else:
        committed = target.committed()
    return committed or Deferred.completed(None)
