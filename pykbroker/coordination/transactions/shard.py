"""One partition of ``__transaction_state``: the transactional ids that live in it."""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.coordination.transactions.transaction import AT_REST, PREPARED, State, Transaction


class TransactionShard:
    """Transactional ids and their values; ``replay`` is the only place where they change."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}

    def replay(self, transactional_id: str, transaction: Transaction | None) -> None:
        """Take a record that is in the log into the state; None is a tombstone."""
        if transaction is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = transaction

    def prepared(self) -> Iterator[Transaction]:
        """Transactions whose outcome is decided and whose markers are not known to be written."""
        return (each for each in self.transactions.values() if each.state in PREPARED)

    def timed_out(self, now_ms: int) -> Iterator[Transaction]:
        """Open transactions that are older than their producer allowed."""
        for each in self.transactions.values():
            if each.state is State.ONGOING and each.start_ms + each.timeout_ms < now_ms:
                yield each

    def expired(self, now_ms: int, expiration_ms: int) -> Iterator[Transaction]:
        """Transactional ids at rest that nobody used for so long."""
        for each in self.transactions.values():
            if each.state in AT_REST and each.updated_ms <= now_ms - expiration_ms:
                yield each
