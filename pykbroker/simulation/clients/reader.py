"""A read_committed consumer without a group: it follows partitions from their beginning and forgets nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import RETRY_MS, RequestRefused, SimulatedClient, TopicPartition
from pykbroker.simulation.clients.positions import Positions
from pykbroker.simulation.clients.reading import CommittedRecord
from pykbroker.simulation.process import Steps

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World


class SimulatedReader(SimulatedClient):
    """``records`` is everything it has read, in order."""

    def __init__(self, world: World, history: History, name: str, partitions: list[TopicPartition]) -> None:
        super().__init__(world, history, name)
        self.records: dict[TopicPartition, list[CommittedRecord]] = {where: [] for where in partitions}
        self.positions = Positions(self, name)
        self.positions.offsets = dict.fromkeys(partitions, 0)
        self.spawn(self._run())

    def _run(self) -> Steps[None]:
        while True:
            try:
                found = yield from self.positions.fetch()
            except RequestRefused:  # after a loss of power a new topic may not be known again
                yield from self.pause(RETRY_MS)
                continue
            for where, records in found.items():
                self.records[where] += records
                for record in records:
                    self.history.saw(record.value)
