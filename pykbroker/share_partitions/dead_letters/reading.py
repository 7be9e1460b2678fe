"""Reads records of a partition for this process itself, some at a time."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pykbroker.partitions.record_chunks import RecordChunks, decode_now
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.wire.batch_header import iter_batches
from pykbroker.wire.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.primitives import Buffer
    from pykbroker.wire.records import Record

log = logging.getLogger(__name__)

_READ_BYTES = 1024 * 1024


def records_between(
    runtime: Runtime, partition: Partition, first: int, end: int
) -> Iterator[list[Record] | Deferred[None]]:
    """The records from ``first`` to ``end`` (exclusive) that are in the log, in order, without control records; and waits, which are
    over when the next ones are asked for. A batch that cannot be read is left out.

    Raises KafkaError KAFKA_STORAGE_ERROR, and OFFSET_OUT_OF_RANGE or UNKNOWN_TOPIC_OR_PARTITION if the log moves on meanwhile.
    """
    at = first
    while at < end:
        at = max(at, partition.log_start_offset)
        plan = None if at >= end else partition.log.plan_read(at, _READ_BYTES, upper_offset=end)
        if plan is None:
            return
        reading: Deferred[Buffer | StoredRecords] = runtime.offload_read(plan.read)
        yield reading.settled()
        data = reading.value
        if isinstance(data, StoredRecords):
            raise TypeError("records that were asked for whole are still in their files")
        for position, header in iter_batches(data):
            if header.last_offset >= at and header.base_offset < end and not header.is_control:
                batch = memoryview(data)[position : position + header.size]
                yield from records_of(runtime, partition, header, batch, range(at, end))
        if plan.end_offset <= at:
            return
        at = plan.end_offset


def records_of(
    runtime: Runtime, source: object, header: BatchHeader, batch: Buffer, wanted: range
) -> Iterator[list[Record] | Deferred[None]]:
    """The records of a batch, as ``records_between`` has them; ``source`` is for the log."""
    try:
        records = decode_now(header, batch)
        if records is not None:
            yield [each for each in records if each.offset in wanted]
            return
        chunks = RecordChunks(runtime, header, batch)
        while True:
            taken = chunks.take()
            yield taken.settled()
            if not taken.value:
                return
            yield [each for each in taken.value if each.offset in wanted]
    except WireError as error:
        log.warning("The batch at %d of %r is left out: %s", header.base_offset, source, error)
