"""Finds batches of aborted transactions, and markers of transactions whose data is gone."""

from __future__ import annotations

from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import decode_records


class CleanedTransactions:
    """Tracks open transactions over the batches in order, as Kafka's CleanedTransactionMetadata does."""

    def __init__(self, aborted: list[AbortedTxn]) -> None:
        self._coming = sorted(aborted, key=lambda txn: txn.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTxn] = {}
        self._seen: set[int] = set()
        self._committed: set[int] = set()

    def _begin_until(self, offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= offset:
            txn = self._coming.pop()
            self._aborted.setdefault(txn.producer_id, txn)

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a data batch belongs to a transaction that was aborted."""
        self._begin_until(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._seen.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def end(self, header: BatchHeader, data: Buffer) -> tuple[bool, AbortedTxn | None]:
        """Handle a control batch: whether no data of its transaction is left, and otherwise the aborted transaction that it ends."""
        self._begin_until(header.last_offset)
        if header.record_count == 0:
            return True, None
        if header.producer_id < 0:
            return False, None
        marker = decode_end_txn_marker(decode_records(data, header=header)[0])
        if marker.commit:
            was_open = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not was_open, None
        txn = self._aborted.pop(header.producer_id, None)
        if txn is None or header.producer_id not in self._seen:
            return True, None
        self._seen.discard(header.producer_id)
        return False, txn
