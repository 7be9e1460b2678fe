"""The lengths of the records of an uncompressed batch: whether each ends where the next begins, and the last where the batch ends.

Kafka reads all records, and refuses a batch of which this is not so. Here it is most of what is looked at of a batch that a producer
sends: each instruction is one of every produce. Records that follow each other are mostly equally long, so their lengths are compared
as one slice of every n-th byte; others are walked over one by one.
"""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import read_unsigned_varint

#: Steps of a batch that nobody counts, those of one call, and those that take as long as a record that is decoded
#: (``runtime/decoding.py``).
FREE_STEPS = 32
MOST_STEPS = 1024
STEPS_OF_A_RECORD = 4
#: The length of the smallest record (attributes, two deltas, key length, value length, header count), which does not count itself,
#: before zigzag is undone: twice the number.
SHORTEST = 2 * 6
#: Records that are compared at once at first, and how many times more once all of them are equally long.
_COMPARED = 64
_GROWTH = 8
_FEW = 4
#: The records whose number in their batch takes one byte.
_SHORT_NUMBERS = 64
_WRONG = "A record's length does not fit the batch"


def fit(data: Buffer, count: int) -> bool:
    """Whether the lengths of ``count`` records are found to be right by few steps. If not, ``walk`` says what they are."""
    if are_alike(data, count):
        return True
    if count > FREE_STEPS:
        return False
    try:
        walk(data, HEADER_SIZE, count, FREE_STEPS)
    except KafkaError:
        return False
    return True


def are_alike(data: Buffer, count: int) -> bool:
    """Whether the first records are as long as the first one, of less than 8 KiB, those with a number of two bytes are a byte longer, and
    the last ends where the batch ends: as those of most batches.
    """
    if len(data) < HEADER_SIZE + SHORTEST + 2:  # of two records
        return False
    length = data[HEADER_SIZE]
    if length > 127:
        byte = data[HEADER_SIZE + 1]
        if byte > 127:
            return False
        length = length & 127 | byte << 7
    if length & 1 or length < SHORTEST:
        return False
    if count <= _SHORT_NUMBERS:
        return _end_of_alike(data, HEADER_SIZE, length, count) == len(data)
    end = _end_of_alike(data, HEADER_SIZE, length, _SHORT_NUMBERS)
    return end > 0 and _end_of_alike(data, end, length + 2, count - _SHORT_NUMBERS) == len(data)


def _end_of_alike(data: Buffer, begin: int, length: int, count: int) -> int:
    """Where ``count`` records of this length end; -1 if not all are so long, or it takes more than two bytes."""
    if length < 1 << 7:
        head = bytes((length,))
    elif length < 1 << 14:
        head = bytes((length & 127 | 128, length >> 7))
    else:
        return -1
    stride = len(head) + (length >> 1)
    end = begin + stride * count
    for at, byte in enumerate(head, begin):
        if bytes(data[at:end:stride]) != bytes((byte,)) * count:
            return -1
    return end


def walk(data: Buffer, pos: int, left: int, steps: int) -> tuple[int, int]:
    """Walk over ``left`` records from ``pos`` on, with ``steps`` records and runs of equally long ones at most; returns the position and
    the number of those that are left. Raises KafkaError INVALID_RECORD for a length that no record can have here.
    """
    size, former, compared = len(data), 0, _COMPARED
    try:
        while left and steps:
            for taken in range(1, min(left, steps) + 1):
                begin = pos
                if (length := data[pos]) < 128:
                    pos += 1 + (length >> 1)
                elif (byte := data[pos + 1]) < 128:
                    pos += 2 + ((length := length & 127 | byte << 7) >> 1)
                else:
                    length, head = read_unsigned_varint(data, pos)
                    pos = head + (length >> 1)
                if length & 1 or length < SHORTEST:
                    raise wrong_length()
                if length == former and left - taken > _FEW:
                    break
                former = length
            steps, left = steps - taken, left - taken
            if length == former and left > _FEW:
                found = _run(data, begin, pos, length, min(left, compared))
                compared = compared * _GROWTH if found == compared else _COMPARED
                pos, left = pos + found * (pos - begin), left - found
    except (IndexError, WireError):
        raise wrong_length() from None
    if pos > size or (pos < size) != (left > 0):
        raise wrong_length()
    return pos, left


def _run(data: Buffer, begin: int, pos: int, length: int, most: int) -> int:
    """How many records from ``pos`` on are as long as the one before, of this length and from ``begin`` to ``pos``."""
    stride = pos - begin
    for at in range(begin, pos - (length >> 1)):
        start = at + stride
        found = bytes(data[start : start + most * stride : stride])
        most = len(found) - len(found.lstrip(bytes((data[at],))))
    return most


def check_lengths(header: BatchHeader, records: Buffer, breathe: Callable[[], None] | None = None) -> None:
    """Check all lengths of a batch, however long it takes; ``breathe`` is called every few tenths of a millisecond. Raises KafkaError
    INVALID_RECORD.
    """
    pos, left = HEADER_SIZE, header.record_count
    while left:
        pos, left = walk(records, pos, left, MOST_STEPS)
        if breathe is not None:
            breathe()


def wrong_length() -> KafkaError:
    """INVALID_RECORD."""
    return KafkaError(ErrorCode.INVALID_RECORD, _WRONG)
