"""A coordinator's state, read back out of its partition: a small one at once, a large one bit by bit.

The loop has other things to do than to replay a million records in one turn. So ``advance`` replays some, and is called
again in a later turn until it says that all are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykbroker.wire.errors import WireError

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.log import Log
    from pykbroker.wire.primitives import Buffer
    from pykbroker.wire.records import BatchHeader

log = logging.getLogger(__name__)

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
        """Replay about ``count`` more records, as many as befit one turn if not given; True once all are replayed, those
        appended meanwhile (a transaction's marker) too. Raises KafkaError with KAFKA_STORAGE_ERROR.
        """
        replayed_log = self.partition.log
        try:
            return self._advance(replayed_log, REPLAYED_AT_ONCE if count is None else count)
        except OSError as error:
            raise replayed_log.home.failed(error, f"reading {replayed_log.name}") from error

    def _advance(self, replayed_log: Log, count: int) -> bool:
        if self._next_offset < 0:
            self._next_offset = replayed_log.log_start_offset
            self._batches = replayed_log.batches()
        before = -1
        while before < self._next_offset < replayed_log.log_end_offset:
            before = self._next_offset
            for header, batch in self._batches:
                try:
                    self.replay_batch(header, batch)
                except WireError as error:
                    log.warning("Skipping the batch at %d of %r: %s", header.base_offset, self.partition, error)
                self._next_offset = header.last_offset + 1
                count -= header.record_count
                if count <= 0:
                    return False
            self._batches = replayed_log.batches(self._next_offset)
        return True

    def replay_batch(self, header: BatchHeader, batch: Buffer) -> None:
        """Take one batch into the state. A record that cannot be read is to be logged and skipped: all others should not
        be lost with it. Raises WireError for a batch that cannot be read, which is skipped then.
        """
        raise NotImplementedError
