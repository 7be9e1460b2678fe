"""Reading a shard's records back from its partition."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykbroker.groups.outcome import Record
from pykbroker.groups.records import decode
from wire.errors import WireError
from wire.records import decode_records, iter_batches

if TYPE_CHECKING:
    from pykbroker.partition import Partition

log = logging.getLogger(__name__)

_READ_BYTES = 1 << 20


def stored_records(partition: Partition) -> Iterator[Record]:
    """Every coordinator record of a partition, in order. One that cannot be read is logged and skipped: the offsets of
    all other groups should not be lost with it. Raises KafkaError with KAFKA_STORAGE_ERROR.
    """
    offset, end = partition.log_start_offset, partition.log_end_offset
    while offset < end:
        plan = partition.log.plan_read(offset, _READ_BYTES, upper_offset=end)
        if plan is None:
            return
        data = plan.read()
        for position, header in iter_batches(data):
            offset = header.last_offset + 1
            if header.is_control:
                continue
            batch = memoryview(data)[position : position + header.size]
            for stored in decode_records(batch, header=header):
                record = _decoded(partition, stored.offset, stored.key, stored.value)
                if record is not None:
                    yield record


def _decoded(partition: Partition, offset: int, key: bytes | None, value: bytes | None) -> Record | None:
    try:
        return None if key is None else decode(key, value)
    except WireError as error:
        log.warning("Skipping record %d of %s-%d: %s", offset, partition.topic, partition.index, error)
        return None
