"""Restoring a shard from its partition: a small one at once, a large one bit by bit."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykbroker.groups.outcome import Record
from pykbroker.groups.records import decode
from wire.control_records import decode_end_txn_marker
from wire.errors import WireError
from wire.records import BatchHeader, decode_records

if TYPE_CHECKING:
    from pykbroker.groups.shard import GroupShard
    from pykbroker.partition import Partition
    from wire.primitives import Buffer

log = logging.getLogger(__name__)


class Loading:
    """A shard on its way out of its partition."""

    __slots__ = ("_batches", "_next_offset", "partition", "shard")

    def __init__(self, partition: Partition, shard: GroupShard) -> None:
        self.partition = partition
        self.shard = shard
        self._next_offset = -1
        self._batches: Iterator[tuple[BatchHeader, Buffer]] = iter(())

    def advance(self, count: int) -> bool:
        """Replay about ``count`` more records; True once all are replayed, those appended meanwhile (a transaction's
        marker) too. Raises KafkaError with KAFKA_STORAGE_ERROR.
        """
        if self._next_offset < 0:
            self._next_offset = self.partition.log_start_offset
            self._batches = self.partition.log.batches()
        before = -1
        while before < self._next_offset < self.partition.log_end_offset:
            before = self._next_offset
            for header, batch in self._batches:
                self._replay(header, batch)
                self._next_offset = header.last_offset + 1
                count -= header.record_count
                if count <= 0:
                    return False
            self._batches = self.partition.log.batches(self._next_offset)
        return True

    def _replay(self, header: BatchHeader, batch: Buffer) -> None:
        """Replay a batch, or what the end of a transaction made of earlier ones.

        A record that cannot be read is logged and skipped: the offsets of all other groups should not be lost with it.
        """
        records = decode_records(batch, header=header)
        if header.is_control:
            for marker in records:
                self.shard.end_transaction(header.producer_id, commit=decode_end_txn_marker(marker).commit)
            return
        for stored in records:
            record = _decoded(self.partition, stored.offset, stored.key, stored.value)
            if record is not None:
                self.shard.replay(record._replace(producer_id=header.producer_id))


def _decoded(partition: Partition, offset: int, key: bytes | None, value: bytes | None) -> Record | None:
    try:
        return None if key is None else decode(key, value)
    except WireError as error:
        log.warning("Skipping record %d of %s-%d: %s", offset, partition.topic, partition.index, error)
        return None
