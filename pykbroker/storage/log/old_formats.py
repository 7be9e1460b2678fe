"""Detects message formats 0 and 1, which Apache Kafka wrote before 0.11 and still serves, and which this broker does not read.

    offset 0 | size 8 | CRC-32 of all that follows it 12 | magic 16 | attributes 17 | timestamp (format 1) | key | value

A log that holds them is not served and not changed: recovery would treat them as corruption.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from pykbroker.wire.batch_header import LOG_OVERHEAD
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.storage.disk import File

_HEAD = Struct(">8xiIb")
_CRC_SIZE = 4
#: The smallest size field of each format: a message without key and value.
_LEAST_SIZE = {0: 14, 1: 22}


class OldFormatError(KafkaError):
    """A log holds messages of a format that is not read; the text says where, and what to do."""

    def __init__(self, path: str, magic: int) -> None:
        super().__init__(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"{path} holds messages of format {magic}, which Apache Kafka wrote before 0.11 and pykbroker does not read. "
            "Nothing in it was changed, and the partition is not served: have Apache Kafka serve this directory, copy the "
            "topic to a new one there, and delete the old one",
        )


def refuse_old_format(file: File, position: int, end: int) -> None:
    """Raises OldFormatError if a whole message of format 0 or 1 with a valid checksum begins at ``position``, and OSError.
    Waits for the disk.
    """
    if end - position < _HEAD.size:
        return
    head = file.pread(_HEAD.size, position)
    if len(head) < _HEAD.size:
        return
    size, crc, magic = _HEAD.unpack(head)
    if size < _LEAST_SIZE.get(magic, end) or position + LOG_OVERHEAD + size > end:
        return
    covered = file.pread(size - _CRC_SIZE, position + LOG_OVERHEAD + _CRC_SIZE)
    if crc32(covered) == crc:
        raise OldFormatError(file.path, magic)
