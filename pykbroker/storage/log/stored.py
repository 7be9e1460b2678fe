"""Batches that stay in their file until they are sent, so that large answers need no memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.log.segment import Segment
    from pykbroker.storage.log.state import LogState


class StoredRecords:
    """``len(self)`` bytes of whole batches from ``position`` of a segment on, which never change.

    Retention or compaction may remove the segment; its file stays for file.delete.delay.ms, and a later read of a slice
    fails.
    """

    __slots__ = ("_log", "_position", "_segment", "_size")

    def __init__(self, log: LogState, segment: Segment, position: int, size: int) -> None:
        self._log = log
        self._segment = segment
        self._position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return bytes(self.slice(0, self._size))

    def slice_now(self, start: int, size: int) -> Buffer | None:
        """Up to ``size`` bytes from ``start`` on, if they are in memory. Raises KafkaError KAFKA_STORAGE_ERROR, or
        UNKNOWN_TOPIC_OR_PARTITION if the segment is gone.
        """
        try:
            return self._segment.log.pread_cached(min(size, self._size - start), self._position + start)
        except OSError as error:
            raise self._failed(error) from error

    def slice(self, start: int, size: int) -> Buffer:
        """The same; waits for the disk."""
        try:
            data = self._segment.log.pread(min(size, self._size - start), self._position + start)
        except OSError as error:
            raise self._failed(error) from error
        if not data and start < self._size:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._log.name} is shorter than it was.")
        return data

    def _failed(self, error: OSError) -> KafkaError:
        if self._log.deleted or isinstance(error, FileNotFoundError):
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"A segment of {self._log.name} is gone.")
        return self._log.directory.failed(error, f"reading {self._log.name}")
