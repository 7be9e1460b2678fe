"""Restoring a shard from its partition of ``__consumer_offsets``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.outcome import Record
from pykbroker.coordination.groups.records import decode
from pykbroker.coordination.log_replay import LogReplay
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import BatchHeader, decode_records

if TYPE_CHECKING:
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.partitions.partition import Partition
    from pykbroker.wire.primitives import Buffer

log = logging.getLogger(__name__)


class Loading(LogReplay):
    """A shard on its way out of its partition."""

    __slots__ = ("shard",)

    def __init__(self, partition: Partition, shard: GroupShard) -> None:
        super().__init__(partition)
        self.shard = shard

    def replay_batch(self, header: BatchHeader, batch: Buffer) -> None:
        """Every record of the batch, or what the end of a transaction made of earlier ones."""
        records = decode_records(batch, header=header)
        if header.is_control:
            for marker in records:
                self.shard.end_transaction(header.producer_id, commit=decode_end_txn_marker(marker).commit)
            return
        for stored in records:
            record = _decoded(self.partition, stored.offset, stored.key, stored.value)
            if record is not None:
                self.shard.replay(record._replace(producer_id=header.producer_id))


def _decoded(partition: Partition, offset: int, key: bytes | None, value: bytes | None) -> Record | None:
    try:
        return None if key is None else decode(key, value)
    except WireError as error:
        log.warning("Skipping record %d of %s-%d: %s", offset, partition.topic, partition.index, error)
        return None
