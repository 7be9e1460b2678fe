"""One partition of ``__transaction_state``: its transactional ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.coordination.shard import Shard
from pykbroker.coordination.transactions.transaction import PREPARED, Transaction


class TransactionShard(Shard):
    """Transactional ids and their values, which only ``replay`` changes."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record of the log to the state."""
        if record.value is None:
            self.transactions.pop(record.key, None)
        else:
            self.transactions[record.key] = record.value

    def keys(self) -> Iterable[str]:
        """All transactional ids."""
        return self.transactions

    def loaded(self) -> Iterator[str]:
        """Prepared transactions, whose markers may not be written yet."""
        return (name for name, each in self.transactions.items() if each.state in PREPARED)

    def begin(self, key: str) -> Outcome:
        """Write the markers of a prepared transaction, possibly again."""
        transaction = self.transactions.get(key)
        return Outcome(effects=[transaction] if transaction and transaction.state in PREPARED else [])

    def timed_out(self, now_ms: int) -> Iterator[Transaction]:
        """Open transactions that have timed out."""
        return (each for each in self.transactions.values() if each.is_late(now_ms))

    def expired(self, now_ms: int, expiration_ms: int) -> Iterator[Transaction]:
        """Expired transactional ids."""
        return (each for each in self.transactions.values() if each.is_expired(now_ms, expiration_ms))
