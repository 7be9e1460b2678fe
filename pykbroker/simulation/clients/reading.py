"""What a read_committed consumer makes of a Fetch answer."""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.wire.control_records import ControlRecordType, decode_control_key
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from pykbroker.wire.records import decode_records, iter_batches

READ_COMMITTED = 1
FETCH_VERSION = 12


class CommittedRecord(NamedTuple):
    """A committed record."""

    offset: int
    value: bytes


def fetch_request(positions: dict[tuple[str, int], int], max_wait_ms: int) -> FetchRequest:
    """A full fetch of what is committed, without a session."""
    topics: dict[str, list[FetchPartition]] = {}
    for (topic, index), offset in positions.items():
        wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1_000_000)
        topics.setdefault(topic, []).append(wanted)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=10_000_000,
        isolation_level=READ_COMMITTED,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
    )


def committed(data: PartitionData, position: int) -> tuple[list[CommittedRecord], int]:
    """The committed records from ``position`` on, and the position after all that was looked at."""
    records = b"" if data.records is None or isinstance(data.records, list) else bytes(data.records)
    coming = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
    aborting: set[int] = set()
    found: list[CommittedRecord] = []
    for start, header in iter_batches(records):
        while coming and coming[0][0] <= header.last_offset:
            aborting.add(coming.pop(0)[1])
        batch = decode_records(records[start : start + header.size], header=header)
        if header.is_control:
            if batch and decode_control_key(batch[0].key) is ControlRecordType.ABORT:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            found += [CommittedRecord(each.offset, each.value or b"") for each in batch if each.offset >= position]
        position = max(position, header.last_offset + 1)
    return found, position
