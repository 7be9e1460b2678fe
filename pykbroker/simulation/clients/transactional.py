"""A transactional producer: transactions over several partitions, some of them aborted, with numbered records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import RETRY_MS, RequestRefused, SimulatedClient, TopicPartition
from pykbroker.simulation.clients.transactions import TransactionIncarnation
from pykbroker.simulation.process import Steps

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World


class TransactionalProducer(SimulatedClient):
    """Two of the same ``transactional_id`` fence each other, again and again."""

    def __init__(
        self,
        world: World,
        history: History,
        name: str,
        transactional_id: str,
        partitions: list[TopicPartition],
        *,
        protocol: int,
        count: int,
        interval_ms: int,
        timeout_ms: int = 10_000,
    ) -> None:
        super().__init__(world, history, name)
        self._id = transactional_id
        self._partitions = partitions
        self._protocol = protocol
        self._count = count
        self._interval_ms = interval_ms
        self._timeout_ms = timeout_ms
        self.writing = 1
        self.spawn(self._run())

    def _run(self) -> Steps[None]:
        done = 0
        while done < self._count:
            try:
                transactions = TransactionIncarnation(self, self._id, self._protocol, self._timeout_ms)
                yield from transactions.start()
                while done < self._count:
                    done += 1
                    yield from self._transact(transactions, done)
                    yield from self.pause(self.random.randint(1, 2 * self._interval_ms))
            except RequestRefused as refusal:
                self.world.note(f"{self.name} begins anew ({refusal})")
                yield from self.pause(10 * RETRY_MS)
        self.writing = 0

    def _transact(self, transactions: TransactionIncarnation, number: int) -> Steps[None]:
        transactions.begin()
        commit = self.random.random() < 0.75
        try:
            for each in range(self.random.randint(1, 4)):
                where = self.random.choice(self._partitions)
                yield from transactions.send(where, [b"%s/%d/%d" % (self.name.encode(), number, each)])
                yield from self.pause(self.random.randint(0, 100))
        except RequestRefused as refusal:
            self.world.note(f"{self.name} aborts ({refusal})")
            yield from transactions.end(commit=False)
            if self._protocol < 2:
                yield from transactions.start(recover=True)
            return
        yield from transactions.end(commit=commit)
