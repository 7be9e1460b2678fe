"""One partition of ``__transaction_state``: the transactional ids that live in it."""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.coordination.shard import Shard
from pykbroker.coordination.transactions.transaction import PREPARED, Transaction


class TransactionShard(Shard):
    """Transactional ids and their values; ``replay`` is the only place where they change."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}

    def replay(self, record: CoordinatorRecord) -> None:
        """Take a record that is in the log into the state."""
        if record.value is None:
            self.transactions.pop(record.key, None)
        else:
            self.transactions[record.key] = record.value

    def loaded(self) -> Iterator[str]:
        """Transactions whose outcome is decided and whose markers are not known to be written."""
        return (name for name, each in self.transactions.items() if each.state in PREPARED)

    def begin(self, key: str) -> Outcome:
        """Their markers are written, again where that was done already."""
        transaction = self.transactions.get(key)
        return Outcome(effects=[transaction] if transaction and transaction.state in PREPARED else [])

    def timed_out(self, now_ms: int) -> Iterator[Transaction]:
        """Open transactions that are older than their producer allowed."""
        return (each for each in self.transactions.values() if each.is_late(now_ms))

    def expired(self, now_ms: int, expiration_ms: int) -> Iterator[Transaction]:
        """Transactional ids at rest that nobody used for so long."""
        return (each for each in self.transactions.values() if each.is_expired(now_ms, expiration_ms))
