"""Where dead letters go: a partition of their topic, at the broker that leads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.share_partitions.dead_letters.reading import records_between
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime

    class LetterPlace(Protocol):
        """A partition of a dead-letter topic, as of now: another broker may lead it the next time."""

        @property
        def most_bytes(self) -> int:
            """The most bytes of a batch."""
            ...

        def append(self, letters: Sequence[Record], /) -> Deferred[None]:
            """The wait until letters are committed, or without any what is there. Fails with the KafkaError of the leader."""
            ...

        def since(self, since_ms: int, /) -> Iterator[list[Record] | Deferred[Any]]:
            """The records from this time on, as ``records_between`` has them; fails as that does, and as the leader says."""
            ...


def encoded(letters: Sequence[Record]) -> memoryview:
    """The batch of letters."""
    return memoryview(bytearray(encode_batch(letters)))


class LocalLetters:
    """A ``LetterPlace`` whose leader is in this process; the log is open."""

    def __init__(self, runtime: Runtime, partition: Partition) -> None:
        self._runtime = runtime
        self._partition = partition

    @property
    def most_bytes(self) -> int:
        """See ``LetterPlace``."""
        return self._partition.log.config.most_batch_bytes

    def append(self, letters: Sequence[Record]) -> Deferred[None]:
        """See ``LetterPlace``."""
        return attempt(self._append, letters)

    def _append(self, letters: Sequence[Record]) -> Deferred[None]:
        partition = self._partition
        committed = partition.append_at_once(encoded(letters)).committed if letters else partition.committed()
        return committed or Deferred.completed(None)

    def since(self, since_ms: int) -> Iterator[list[Record] | Deferred[Any]]:
        """See ``LetterPlace``."""
        log, end = self._partition.log, self._partition.log_end_offset
        beginning = self._runtime.offload_read(log.offset_for_timestamp, since_ms, end)
        yield beginning.settled()
        place = beginning.value
        if place is not None:
            yield from records_between(self._runtime, self._partition, place.offset, end)
