"""Loads a coordinator's state from its partition: a small one at once, a large one in several turns.

A million records in one turn would stall the loop. So ``advance`` replays some, and is called again in later turns until
all are replayed. A batch that is not small is decoded in a thread (``record_chunks.py``): Kafka's administrative clients may write
to coordinators' topics, too, and a few kilobytes may hold half a million records.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from pykbroker.coordination.shard import RecordCodec, Shard
from pykbroker.partitions.record_chunks import RecordChunks, decode_now
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.errors import WireError

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.log.log import Log
    from pykbroker.wire.primitives import Buffer
    from pykbroker.wire.records import BatchHeader, Record

log = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)

#: Records replayed in one turn of the loop: about 5 ms of work.
REPLAYED_AT_ONCE = 500
#: What decompressing a batch costs, in records.
_COST_OF_CODEC = 32
_NEXT_TURN: Deferred[None] = Deferred.completed(None)


class LogReplay(Generic[S]):
    """One pass over a partition that replays its records into the shard."""

    __slots__ = ("_batches", "_chunks", "_codec", "_header", "_next_offset", "_runtime", "_taken", "partition", "shard")

    def __init__(self, runtime: Runtime, partition: Partition, shard: S, codec: RecordCodec) -> None:
        self._runtime = runtime
        self.partition = partition
        self.shard = shard
        self._codec = codec
        self._next_offset = -1
        self._batches: Iterator[tuple[BatchHeader, Buffer]] = iter(())
        #: The batch that a thread decodes, and what it has decoded.
        self._header: BatchHeader | None = None
        self._chunks: RecordChunks | None = None
        self._taken: Deferred[list[Record]] | None = None

    def advance(self, count: int | None = None) -> Deferred[None] | None:
        """Replay about ``count`` more records, by default as many as fit one turn. Returns the wait after which to call it again, in
        another turn; None once all are replayed, with those appended meanwhile (transaction markers). Raises KafkaError
        KAFKA_STORAGE_ERROR.
        """
        replayed_log = self.partition.log
        try:
            return self._advance(replayed_log, REPLAYED_AT_ONCE if count is None else count)
        except OSError as error:
            raise replayed_log.directory.failed(error, f"reading {replayed_log.name}") from error

    def close(self) -> None:
        """Nobody needs the state any more: give back the memory of a batch that is being decoded."""
        if self._chunks is not None:
            self._chunks.close()

    def _advance(self, replayed_log: Log, count: int) -> Deferred[None] | None:
        if self._next_offset < 0:
            self._next_offset = replayed_log.log_start_offset
            self._batches = replayed_log.batches()
        if self._chunks is not None:
            return self._replay_chunk(self._chunks)
        before = -1
        while before < self._next_offset < replayed_log.log_end_offset:
            before = self._next_offset
            for header, batch in self._batches:
                try:
                    records = decode_now(header, batch)
                except WireError as error:
                    self._skip(header, error)
                    records = []
                if records is None:
                    self._header, self._chunks = header, RecordChunks(self._runtime, header, batch)
                    return self._take(self._chunks)
                self._replay(header, records)
                self._next_offset = header.last_offset + 1
                count -= header.record_count + (_COST_OF_CODEC if header.compression else 0)
                if count <= 0:
                    return _NEXT_TURN
            self._batches = replayed_log.batches(self._next_offset)
        return None

    # ---- a batch that a thread decodes ---------------------------------------------------------------------------------

    def _take(self, chunks: RecordChunks) -> Deferred[None]:
        self._taken = chunks.take()
        return self._taken.settled()

    def _replay_chunk(self, chunks: RecordChunks) -> Deferred[None]:
        """Replay what the thread has decoded."""
        header, taken = self._header, self._taken
        assert header is not None, "its chunks are there"
        assert taken is not None, "some were taken"
        records: list[Record] = []
        try:
            records = taken.value
        except WireError as error:
            self._skip(header, error)
        self._replay(header, records)
        if records:
            return self._take(chunks)
        self._chunks = self._taken = self._header = None
        self._next_offset = header.last_offset + 1
        return _NEXT_TURN

    def _skip(self, header: BatchHeader, error: WireError) -> None:
        log.warning("Skipping the batch at %d of %r: %s", header.base_offset, self.partition, error)

    def _replay(self, header: BatchHeader, records: list[Record]) -> None:
        """Replay records of one batch. Those that cannot be decoded are skipped, with one line of the log, so that the others are not
        lost with them.
        """
        if header.is_control:
            for marker in records:
                try:
                    commit = decode_end_txn_marker(marker).commit
                except WireError as error:
                    self._skip(header, error)
                    return
                self.shard.end_transaction(header.producer_id, commit=commit)
            return
        skipped: list[tuple[int, str]] = []
        for stored in records:
            try:
                record = None if stored.key is None else self._codec.decode(stored.key, stored.value)
            except WireError as error:
                skipped.append((stored.offset, str(error)))
                continue
            if record is not None:
                self.shard.replay(record._replace(producer_id=header.producer_id, offset=stored.offset))
        if skipped:
            offset, why = skipped[0]
            some = "record" if len(skipped) == 1 else f"{len(skipped)} records, the first is"
            log.warning("Skipping %s %d of %r: %s", some, offset, self.partition, why)
