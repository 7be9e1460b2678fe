"""Writes dead letters: first finds those that are there already, if a broker may have been killed, then appends the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from pykbroker.runtime.waiting_work import WaitingWork, carry_out
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.dead_letters.letters import LetterForm, fits, size_of
from pykbroker.share_partitions.dead_letters.reading import records_between
from pykbroker.share_partitions.dead_letters.topic import DeadLetterTopics
from pykbroker.wire.batch_header import HEADER_SIZE
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from pykbroker.coordination.share.state import SharePartitionKey
    from pykbroker.partitions.partition import Partition
    from pykbroker.share_partitions.group_settings import ShareGroupSettings
    from pykbroker.share_partitions.host import ShareHost
    from pykbroker.share_partitions.states import GivenUp

#: Attempts to create the topic, and to find its leader; the pause before the second one, doubled each time up to the longest.
_ATTEMPTS: Final = 5
_FIRST_PAUSE_MS: Final = 1000
_LONGEST_PAUSE_MS: Final = 30_000
#: Letters of a batch, which one step encodes and appends, and the weight of one (``runtime/slices.py``).
_AT_ONCE: Final = 100
_WEIGHT: Final = 2
#: The weight of looking at a record of the dead-letter topic, or of one that is copied.
_LOOKING: Final = 0.2
_AGAIN: Final = (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.THROTTLING_QUOTA_EXCEEDED)


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
            yield from self._search(target, form, given_up, since_ms, written)
        most = min(target.log.config.max_message_bytes, target.log.config.segment_bytes)
        batch = _LetterBatch()
        for each in given_up:
            for letter in self._letters(source, form, each, most):
                if not isinstance(letter, tuple):
                    yield letter
                    continue
                offset, record = letter
                if offset in written:
                    continue
                if batch.letters and not batch.has_room(record, most):
                    yield from self._append(source, batch)
                    batch = _LetterBatch()
                batch.add(record)
        if batch.letters:
            yield from self._append(source, batch)

    # The topic

    def _target(self, source: LetterSource) -> WaitingWork[Partition]:
        """The partition of the topic, at its leader."""
        for number in range(_ATTEMPTS):
            if number:
                yield self._pause(number)
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

    def _pause(self, number: int) -> Deferred[None]:
        over: Deferred[None] = Deferred()
        pause_ms = min(_FIRST_PAUSE_MS << number - 1, _LONGEST_PAUSE_MS)
        self._host.runtime.timers.after(pause_ms, lambda: over.complete(None))
        return over

    def _search(
        self, target: Partition, form: LetterForm, given_up: Sequence[GivenUp], since_ms: int, written: set[int]
    ) -> WaitingWork[None]:
        """Find the offsets whose letters are written already."""
        end = target.log_end_offset
        beginning = self._host.runtime.offload_read(target.log.offset_for_timestamp, since_ms, end)
        yield beginning
        place = beginning.value
        wanted = [range(each.first, each.last + 1) for each in given_up]
        for found in () if place is None else records_between(self._host.runtime, target, place.offset, end):
            if isinstance(found, Deferred):
                yield found
                continue
            for record in found:
                offset = form.offset_of(record)
                if offset is not None and any(offset in each for each in wanted):
                    written.add(offset)
            yield _LOOKING * len(found)

    # Letters

    def _letters(
        self, source: LetterSource, form: LetterForm, given_up: GivenUp, most: int
    ) -> Iterator[tuple[int, Record] | float | Deferred[None]]:
        """Each offset with its letter; weights and waits in between."""
        now_ms = self._host.runtime.clock.now_ms()
        following = given_up.first
        for found in self._copied(source, given_up):
            if isinstance(found, Deferred):
                yield found
                continue
            for record in found:
                for offset in range(following, record.offset):
                    yield offset, form.letter(offset, given_up, now_ms, None)
                letter = form.letter(record.offset, given_up, now_ms, record)
                if not fits(letter, most):
                    letter = form.letter(record.offset, given_up, now_ms, None)
                yield record.offset, letter
                following = record.offset + 1
            yield _LOOKING * len(found)
        for offset in range(following, given_up.last + 1):
            yield offset, form.letter(offset, given_up, now_ms, None)

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

    def _append(self, source: LetterSource, batch: _LetterBatch) -> WaitingWork[None]:
        """Append letters where their topic is led now. The share partition must be the one that may: another one finds what is
        written before it writes.
        """
        data = encode_batch(batch.letters)
        for _ in range(_ATTEMPTS):
            target = yield from self._target(source)
            if source.has_ended:
                break
            try:
                appended = target.append_at_once(memoryview(bytearray(data)))
            except KafkaError as error:
                if error.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    raise
                yield self._pause(1)
                continue
            yield _WEIGHT * len(batch.letters)
            if appended.committed is not None:
                yield appended.committed
                _ = appended.committed.value
            return
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
