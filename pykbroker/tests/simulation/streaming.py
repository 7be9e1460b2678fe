"""The streams group of a story: no task is active twice, and in the end each task is active once (KIP-1071)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pykbroker.simulation.clients.streams_member import StreamsClient
from pykbroker.tests.simulation.membership import Membership

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World

STREAMERS = "streamers"

#: Of brokers whose stories have a streams group.
SETTINGS = {
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "2000",
    "group.streams.heartbeat.interval.ms": "2000",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "500",
}


class Streaming(Membership[StreamsClient]):
    """See the module. ``source`` has ``width`` partitions, and so have the topics that the application is given."""

    kind = "streams"
    troubles = ("crash", "stall", "leave", "come", "nothing")

    def __init__(self, world: World, history: History, members: int, source: str, width: int) -> None:
        super().__init__(world, history, "streaming", STREAMERS, members)
        self._source = source
        self._width = width

    def enter(self) -> None:
        """The members come; each task has a standby, where there is somebody for it."""
        self.join(**{"streams.num.standby.replicas": "1"})

    def member(self, number: int) -> StreamsClient:
        process = f"process{number % 2}"
        return StreamsClient(self._world, self._history, f"streamer{number}", STREAMERS, self._source, process)

    def unfinished(self) -> list[str]:
        """Tasks that nobody has, or more than one."""
        times = Counter(task for each in self.members for task in each.active)
        wanted = {(subtopology, index): 1 for subtopology in ("0", "1") for index in range(self._width)}
        return [] if times == wanted else [f"{STREAMERS} have {dict(times)}"]
