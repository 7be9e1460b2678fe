"""Consume, transform, produce, and commit what was consumed, all in one transaction: exactly once (KIP-447)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.simulation.clients.client import RequestRefused
from pykbroker.simulation.clients.consumer import ClassicConsumer
from pykbroker.simulation.clients.group_consumer import MembershipLost
from pykbroker.simulation.clients.transactions import TransactionIncarnation

if TYPE_CHECKING:
    from pykbroker.simulation.clients.client import TopicPartition
    from pykbroker.simulation.clients.reading import CommittedRecord
    from pykbroker.simulation.history import History
    from pykbroker.simulation.process import Steps
    from pykbroker.simulation.world import World

_TIMEOUT_MS = 8_000
#: The share of its transactions that it does not abort in the end.
_COMMITTED = 0.85


def output_of(where: TopicPartition, record: CommittedRecord) -> bytes:
    """What becomes of an input record; it says where the record stood. ``;`` and the name of the attempt follow."""
    return b"out/%d/%d/%s" % (where[1], record.offset, record.value)


class Processor(ClassicConsumer):
    """One of several that share the partitions of ``source``; it writes to ``target``, whose partitions are ``width``."""

    def __init__(
        self,
        world: World,
        history: History,
        name: str,
        source: str,
        target: str,
        width: int,
        *,
        protocol: int,
        **how: Any,
    ) -> None:
        super().__init__(world, history, name, f"{source}-to-{target}", [source], **how)
        self._target = target
        self._width = width
        self._protocol = protocol
        self._transactions: TransactionIncarnation | None = None
        self._attempts = 0

    def process(self, found: dict[TopicPartition, list[CommittedRecord]]) -> Steps[None]:
        """One transaction for what one fetch found; where it fails, go back to what is committed."""
        found = {where: records for where, records in found.items() if records}
        if not found:
            return
        try:
            yield from self._transact(found)
        except RequestRefused as refusal:
            self.world.note(f"{self.name} goes back ({refusal})")
            self.history.count("processor went back")
            self._check(refusal.code)
            yield from self._go_back()

    def _go_back(self) -> Steps[None]:
        self.positions.keep([])
        if (yield from self.positions.load(self._owned)):
            raise MembershipLost

    def _transact(self, found: dict[TopicPartition, list[CommittedRecord]]) -> Steps[None]:
        if self._transactions is None:
            self._transactions = TransactionIncarnation(self, self.name, self._protocol, _TIMEOUT_MS)
            yield from self._restart(self._transactions)
        transactions = self._transactions
        membership = self.membership
        offsets = {where: self.positions.offsets[where] for where in found if where in self.positions.offsets}
        transactions.begin()
        self._attempts += 1
        attempt = f"{self.name}.{self._attempts}".encode()
        try:
            for where, records in found.items():
                values = [b"%s;%s" % (output_of(where, record), attempt) for record in records]
                yield from transactions.send((self._target, where[1] % self._width), values)
            yield from transactions.commit_offsets(membership, offsets)
        except RequestRefused:
            self._transactions = None
            yield from transactions.end(commit=False)
            raise
        commit = self.random.random() < _COMMITTED
        try:
            yield from transactions.end(commit=commit)
        except RequestRefused:
            self._transactions = None
            raise
        if not commit:
            self.history.count("processor changed its mind")
            yield from self._go_back()

    def _restart(self, transactions: TransactionIncarnation) -> Steps[None]:
        try:
            yield from transactions.start()
        except RequestRefused:
            self._transactions = None
            raise

    def commit(self) -> Steps[None]:
        """Nothing is committed but in transactions."""
        yield from ()
