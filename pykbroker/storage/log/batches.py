"""Finds record batches in a segment's file by their headers."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING

from pykbroker.storage.log.old_formats import refuse_old_format
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, batch_crc_ok, read_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.disk import File
    from pykbroker.storage.index.index import Reader

#: Base offset, length and last offset delta of a batch, for searches.
PLACE = Struct(">qi11xi")

#: Bytes read at once while looking for a batch, and while going through a whole segment.
_LOOK_BYTES = 8 * 1024
_SCAN_BYTES = 1024 * 1024


def find(file: File, offset: int, position: int, end: int, read: Reader) -> int:
    """The position of the first batch from ``position`` on that ends at ``offset`` or later, before ``end``; -1 if there is
    none.
    """
    start = position
    chunk: Buffer = b""
    while position + HEADER_SIZE <= end:
        at = position - start
        if at + PLACE.size > len(chunk):
            start, at = position, 0
            chunk = read(file, min(_LOOK_BYTES, end - position), position)
        base, length, delta = PLACE.unpack_from(chunk, at)
        if base + delta >= offset:
            return position
        if length <= 0:
            return -1
        position += length + LOG_OVERHEAD
    return -1


def whole(data: Buffer, upper_offset: int, start: int = 0) -> tuple[int, int]:
    """The number of bytes of ``data`` that are whole batches below ``upper_offset``, and the offset after them; -1 for that if there is
    none at ``start``, where one begins.
    """
    position, size, after = start, len(data), -1
    while position + HEADER_SIZE <= size:
        base, length, delta = PLACE.unpack_from(data, position)
        following = position + length + LOG_OVERHEAD
        if following > size or base >= upper_offset or length <= 0:
            break
        position, after = following, base + delta + 1
    return position, after


def scan(file: File, position: int, end: int, *, checked: bool = False) -> Iterator[tuple[int, BatchHeader, Buffer]]:
    """(position, header, bytes) of the batches from ``position`` on; stops at the first that is cut or malformed.

    With ``checked``, the CRC decides too. Waits for the disk. The bytes may be kept. Raises OldFormatError.
    """
    start, chunk = position, b""
    while position + HEADER_SIZE <= end:
        at = position - start
        if at + HEADER_SIZE > len(chunk):
            start, at = position, 0
            chunk = file.pread(min(_SCAN_BYTES, end - position), position)
        try:
            header = read_batch_header(chunk, at)
        except WireError:
            break
        size = header.size
        if position + size > end:
            return
        if at + size > len(chunk):
            start, at = position, 0
            chunk = file.pread(max(size, min(_SCAN_BYTES, end - position)), position)
            if len(chunk) < size:
                return
        if checked and not batch_crc_ok(chunk, at, size):
            return
        yield position, header, memoryview(chunk)[at : at + size]
        position += size
    if position < end:
        refuse_old_format(file, position, end)


def writable_bytes(records: Buffer) -> bytearray | memoryview:
    """``records`` itself if it can be patched in place, else a copy."""
    if isinstance(records, bytearray) or (isinstance(records, memoryview) and not records.readonly):
        return records
    return bytearray(records)
