"""Timestamps to offsets, as ListOffsets answers: the time indexes find the segment, and one batch is decoded."""

from __future__ import annotations

import os

from pykbroker.lake.direct.log_files import LogFiles, headers_from, last_timestamp, offset_before
from pykbroker.lake.errors import LakeError
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import decode_records


def offset_at(log: LogFiles, timestamp_ms: int, until: int) -> int | None:
    """The offset of the first record below ``until`` with this timestamp or a later one; None if there is none. Raises LakeError for a
    damaged batch.
    """
    segments = log.segments()
    for number, segment in enumerate(segments):
        largest = None if number == len(segments) - 1 else last_timestamp(log, segment)
        if largest is not None and largest < timestamp_ms:
            continue
        end = segments[number + 1] if number + 1 < len(segments) else until
        begin = max(offset_before(log, segment, timestamp_ms), log.start)
        for each, position, header in headers_from(log, begin, min(end, until)):
            if header.max_timestamp >= timestamp_ms and not header.is_control:
                found = _within(log, each, position, header, timestamp_ms)
                if found is not None and log.start <= found < until:
                    return found
    return None


def _within(log: LogFiles, segment: int, position: int, header: BatchHeader, timestamp_ms: int) -> int | None:
    try:
        with log.opened(segment) as file:
            records = decode_records(os.pread(file.fileno(), header.size, position))
    except FileNotFoundError:
        return None  # retention has removed the segment meanwhile
    except WireError as error:
        raise LakeError(f"{log.place}: {log.file(segment, '.log')} at {position}: {error}.") from None
    return next((record.offset for record in records if record.timestamp >= timestamp_ms), None)
