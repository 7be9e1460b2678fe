"""Restoring a shard from its partition of ``__transaction_state``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pykbroker.coordination.log_replay import LogReplay
from pykbroker.coordination.transactions.records import decode
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import BatchHeader, decode_records

if TYPE_CHECKING:
    from pykbroker.coordination.transactions.shard import TransactionShard
    from pykbroker.partitions.partition import Partition
    from pykbroker.wire.primitives import Buffer

log = logging.getLogger(__name__)


class Loading(LogReplay):
    """A shard on its way out of its partition."""

    __slots__ = ("shard",)

    def __init__(self, partition: Partition, shard: TransactionShard) -> None:
        super().__init__(partition)
        self.shard = shard

    def replay_batch(self, header: BatchHeader, batch: Buffer) -> None:
        """Every record of the batch. The log has no control batches of its own."""
        if header.is_control:
            return
        for stored in decode_records(batch, header=header):
            try:
                found = None if stored.key is None else decode(stored.key, stored.value)
            except WireError as error:
                log.warning("Skipping record %d of %r: %s", stored.offset, self.partition, error)
                continue
            if found is not None:
                self.shard.replay(*found)
