"""An idempotent producer that numbers its records and never gives up one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import RETRY_MS, RequestRefused, SimulatedClient, TopicPartition
from pykbroker.simulation.clients.writing import Writer
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World


class IdempotentProducer(SimulatedClient):
    """Writes ``count`` batches to each of ``partitions``, each partition in a process of its own."""

    def __init__(
        self, world: World, history: History, name: str, partitions: list[TopicPartition], count: int, interval_ms: int
    ) -> None:
        super().__init__(world, history, name)
        self._count = count
        self._interval_ms = interval_ms
        #: How many partitions are still being written to.
        self.writing = len(partitions)
        self.spawn(self._start(partitions))

    def _start(self, partitions: list[TopicPartition]) -> Steps[None]:
        while True:
            answer = yield from self.ask_somebody(InitProducerIdRequest(None, 0), 4)
            if answer.error_code == ErrorCode.NONE:
                break
            yield from self.pause(RETRY_MS)
        writer = Writer(self, answer.producer_id, answer.producer_epoch)
        for where in partitions:
            self.spawn(self._write(writer, where))

    def _write(self, writer: Writer, where: TopicPartition) -> Steps[None]:
        for number in range(self._count):
            batch = b"%s/%d/%d" % (self.name.encode(), where[1], number)
            values = [b"%s/%d" % (batch, each) for each in range(self.random.randint(1, 3))]
            self.history.sending(where, values)
            try:
                offset = yield from writer.write(where, values)
            except RequestRefused as refusal:
                self.history.wrong(f"{self.name} was refused: {refusal}")
                return
            self.history.acknowledged(where, offset, values)
            yield from self.pause(self.random.randint(1, 2 * self._interval_ms))
        self.writing -= 1
