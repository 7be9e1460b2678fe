"""Loads a coordinator's state from its partition: a small one at once, a large one in several turns.

A million records in one turn would stall the loop. So ``advance`` replays some, and is called again in later turns until
all are replayed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from pykbroker.coordination.shard import RecordCodec, Shard
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import BatchHeader, decode_records

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.log import Log
    from pykbroker.wire.primitives import Buffer

log = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)

#: Records replayed in one turn of the loop, over all partitions that are loaded: about 5 ms of work.
REPLAYED_AT_ONCE = 500


class LogReplay(Generic[S]):
    """One pass over a partition that replays its records into the shard."""

    __slots__ = ("_batches", "_codec", "_next_offset", "partition", "shard")

    def __init__(self, partition: Partition, shard: S, codec: RecordCodec) -> None:
        self.partition = partition
        self.shard = shard
        self._codec = codec
        self._next_offset = -1
        self._batches: Iterator[tuple[BatchHeader, Buffer]] = iter(())

    def advance(self, count: int | None = None) -> bool:
        """Replay about ``count`` more records, by default as many as fit one turn; True once all are replayed, with those
        appended meanwhile (transaction markers). Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        replayed_log = self.partition.log
        try:
            return self._advance(replayed_log, REPLAYED_AT_ONCE if count is None else count)
        except OSError as error:
            raise replayed_log.directory.failed(error, f"reading {replayed_log.name}") from error

    def _advance(self, replayed_log: Log, count: int) -> bool:
        if self._next_offset < 0:
            self._next_offset = replayed_log.log_start_offset
            self._batches = replayed_log.batches()
        before = -1
        while before < self._next_offset < replayed_log.log_end_offset:
            before = self._next_offset
            for header, batch in self._batches:
                try:
                    self._replay(header, batch)
                except WireError as error:
                    log.warning("Skipping the batch at %d of %r: %s", header.base_offset, self.partition, error)
                self._next_offset = header.last_offset + 1
                count -= header.record_count
                if count <= 0:
                    return False
            self._batches = replayed_log.batches(self._next_offset)
        return True

    def _replay(self, header: BatchHeader, batch: Buffer) -> None:
        """Replay one batch. A record that cannot be decoded is logged and skipped, so that the others are not lost with
        it. Raises WireError for a batch that cannot be decoded.
        """
        records = decode_records(batch, header=header)
        if header.is_control:
            for marker in records:
                self.shard.end_transaction(header.producer_id, commit=decode_end_txn_marker(marker).commit)
            return
        for stored in records:
            try:
                record = None if stored.key is None else self._codec.decode(stored.key, stored.value)
            except WireError as error:
                log.warning("Skipping record %d of %r: %s", stored.offset, self.partition, error)
                continue
            if record is not None:
                self.shard.replay(record._replace(producer_id=header.producer_id, offset=stored.offset))
