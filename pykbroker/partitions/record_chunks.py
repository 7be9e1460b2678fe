"""Decodes the records of a batch that lies in a log for this process itself: to load coordinators, to export topics.

Anybody may have written the batch. So a small one is decoded at once, and of any other a thread decodes some records at a time, which
counts as decompression and waits for its share of the memory budget.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.compression import Compression, memory_to_decompress
from pykbroker.wire.errors import TooMuchContent
from pykbroker.wire.record_walk import decode_one_by_one
from pykbroker.wire.records import HEADER_SIZE, Record, decode_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pykbroker.runtime.memory import MemoryBudget
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.primitives import Buffer

#: Records of a batch that is decoded at once, its bytes, and those of its content.
AT_ONCE = 256
_BYTES_AT_ONCE = 64 * 1024
_COMPRESSED_AT_ONCE = 16 * 1024
#: Records that a thread decodes before they are handed over, and the bytes of keys, values and headers.
_CHUNK = 500
_CHUNK_BYTES = 1024 * 1024
#: Records between two calls of ``breathe``: some tenths of a millisecond.
_BREATHE_EVERY = 128
#: A record of a compressed batch may use this part of the memory budget, but at least so many bytes.
_HELD_PART = 16
_HELD_AT_LEAST = 8 * 1024 * 1024


def decode_now(header: BatchHeader, batch: Buffer) -> list[Record] | None:
    """The records of a small batch; None if it is too large to be decoded at once. Raises WireError."""
    compressed = header.compression is not Compression.NONE
    if header.record_count > AT_ONCE or len(batch) > (_COMPRESSED_AT_ONCE if compressed else _BYTES_AT_ONCE):
        return None
    try:
        return decode_records(batch, header=header, max_bytes=_BYTES_AT_ONCE)
    except TooMuchContent:
        return None


class RecordChunks:
    """The records of one batch, some at a time. It holds its share of the memory budget from the first ``take`` to its end: a
    failure, the empty chunk, or ``close``.
    """

    __slots__ = ("_batch", "_breathe", "_header", "_held", "_memory", "_offload", "_records")

    def __init__(self, runtime: Runtime, header: BatchHeader, batch: Buffer) -> None:
        self._memory: MemoryBudget = runtime.memory
        self._offload: Callable[..., Deferred[list[Record]]] = runtime.offload_read
        self._breathe = runtime.breathe
        self._header = header
        self._batch = batch
        self._held = 0
        self._records: Iterator[Record] | None = None

    def take(self) -> Deferred[list[Record]]:
        """The next records, none after the last one. Fails with WireError. Take no more before it is done."""
        if self._records is not None:
            return self._decoding()
        most = max(self._memory.limit // _HELD_PART, _HELD_AT_LEAST)
        needed = self._needed(most)
        self._records = decode_one_by_one(self._batch, self._header, max_record_bytes=most)

        def granted(_: None) -> Deferred[list[Record]]:
            self._held = needed
            return self._decoding()

        return (self._memory.decompressed.take(needed) or Deferred.completed(None)).chain(granted)

    def close(self) -> None:
        """Give the memory back; not while a ``take`` is under way."""
        held, self._held = self._held, 0
        if held:
            self._memory.decompressed.give(held)

    def _needed(self, most: int) -> int:
        codec = self._header.compression
        if codec is Compression.NONE:
            return len(self._batch) + _CHUNK_BYTES
        return memory_to_decompress(codec, memoryview(self._batch)[HEADER_SIZE:]) + _CHUNK_BYTES + most

    def _decoding(self) -> Deferred[list[Record]]:
        return attempt(self._offload, self._some).fold(self._over)

    def _over(self, done: Deferred[list[Record]]) -> list[Record]:
        if done.error is not None or not done.result:
            self.close()
        return done.value

    def _some(self) -> list[Record]:
        """The next records, in a thread."""
        assert self._records is not None, "take has begun"
        some: list[Record] = []
        size = 0
        for record in islice(self._records, _CHUNK):
            some.append(record)
            size += len(record.key or b"") + len(record.value or b"")
            size += sum(len(name) + len(value or b"") for name, value in record.headers)
            if size >= _CHUNK_BYTES:
                break
            if not len(some) % _BREATHE_EVERY:
                self._breathe()
        return some
