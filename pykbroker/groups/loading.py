"""Reading a shard's records back from its partition."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykbroker.groups.outcome import Record
from pykbroker.groups.records import decode
from wire.errors import WireError
from wire.records import decode_records

if TYPE_CHECKING:
    from pykbroker.partition import Partition

log = logging.getLogger(__name__)


def stored_records(partition: Partition) -> Iterator[Record]:
    """Every coordinator record of a partition, in order. One that cannot be read is logged and skipped: the offsets of
    all other groups should not be lost with it. Raises KafkaError with KAFKA_STORAGE_ERROR.
    """
    for header, batch in partition.log.batches():
        if header.is_control:
            continue
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
