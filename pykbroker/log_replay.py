"""A coordinator's state, read back out of its partition: a small one at once, a large one bit by bit.

The loop has other things to do than to replay a million records in one turn. So ``advance`` replays some, and is called
again in a later turn until it says that all are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.partition import Partition
    from wire.primitives import Buffer
    from wire.records import BatchHeader

#: Records replayed in one turn of the loop: about 20 ms of work.
REPLAYED_AT_ONCE = 2000


class LogReplay:
    """One pass over a partition. What a batch means is said by the subclasses' ``replay_batch``."""

    __slots__ = ("_batches", "_next_offset", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._next_offset = -1
        self._batches: Iterator[tuple[BatchHeader, Buffer]] = iter(())

    def advance(self, count: int | None = None) -> bool:
        """Replay about ``count`` more records, as many as befit one turn if not given; True once all are replayed, those appended meanwhile (a transaction's
        marker) too. Raises KafkaError with KAFKA_STORAGE_ERROR.
        """
        if self._next_offset < 0:
            self._next_offset = self.partition.log_start_offset
            self._batches = self.partition.log.batches()
        count = REPLAYED_AT_ONCE if count is None else count
        before = -1
        while before < self._next_offset < self.partition.log_end_offset:
            before = self._next_offset
            for header, batch in self._batches:
                self.replay_batch(header, batch)
                self._next_offset = header.last_offset + 1
                count -= header.record_count
                if count <= 0:
                    return False
            self._batches = self.partition.log.batches(self._next_offset)
        return True

    def replay_batch(self, header: BatchHeader, batch: Buffer) -> None:
        """Take one batch into the state. A record that cannot be read is to be logged and skipped: all others should not
        be lost with it.
        """
        raise NotImplementedError
