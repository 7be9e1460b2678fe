"""Reads one partition for a Fetch: from memory at once, or in a thread that waits for the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.storage.index.index import Reader, WouldBlockError, read_blocking, read_cached
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.fetch import AbortedTransaction

if TYPE_CHECKING:
    from pykbroker.partitions.fetch_sessions import FetchItem
    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.reading import ReadPlan
    from pykbroker.wire.messages.fetch import PartitionData


class Reading:
    """The batches of one partition and, with read_committed, the aborted transactions in them."""

    __slots__ = ("committed", "data", "inline", "item", "partition", "plan")

    def __init__(
        self, item: FetchItem, partition: Partition, data: PartitionData, plan: ReadPlan, *, committed: bool
    ) -> None:
        self.item = item
        self.partition = partition
        self.data = data
        self.plan = plan
        self.committed = committed
        self.inline = 0

    def now(self, inline: int) -> int | None:
        """Read from memory; returns the number of bytes, or None if the disk must be waited for.

        Bytes beyond ``inline`` stay in their file, for the connection to read as the client takes them.
        """
        self.inline = inline
        records = self.plan.read_now(inline)
        if records is None:
            return None
        self.data.records = records  # type: ignore[assignment]  # what is in files is sent as bytes are
        try:
            self._find_aborted(read_cached)
        except WouldBlockError:
            self.data.records = b""
            return None
        return len(records)

    def wait(self) -> None:
        """Read, in a thread that may wait for the disk."""
        try:
            self.data.records = self.plan.read(self.inline)  # type: ignore[assignment]  # what is in files is sent as bytes are
            self._find_aborted(read_blocking)
        except KafkaError as error:
            self.data.error_code, self.data.records = error.code, b""

    def _find_aborted(self, read: Reader) -> None:
        if self.committed:
            txns = self.partition.log.aborted_transactions(self.item.fetch_offset, self.plan.end_offset, read)
            self.data.aborted_transactions = [
                AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in txns
            ]
