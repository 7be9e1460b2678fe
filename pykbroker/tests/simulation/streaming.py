"""The streams group of a story: no task is active twice, and in the end each task is active once (KIP-1071)."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.simulation.clients.streams_member import StreamsMember
from pykbroker.tests.kit.metadata import alteration

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


class Streaming:
    """See the module. ``source`` has ``width`` partitions, and so have the topics that the application is given."""

    def __init__(self, world: World, history: History, members: int, source: str, width: int) -> None:
        self._world = world
        self._history = history
        self._draw = Random(f"{world.seed}/streaming")
        self._source = source
        self._width = width
        self._named = 0
        self._count = members
        self.members: list[StreamsMember] = []

    def enter(self) -> None:
        """The members come; each task has a standby, where there is somebody for it."""
        altered = alteration(GROUP_RESOURCE, STREAMERS, **{"streams.num.standby.replicas": "1"})
        wait = self._world.server.running.controller.alter_configs([altered], broker_id=1)
        self._world.run(1000, until=lambda: wait.done)
        for _ in range(self._count):
            self._add()

    def _add(self) -> None:
        self._named += 1
        process = f"process{self._named % 2}"
        self.members.append(
            StreamsMember(self._world, self._history, f"streamer{self._named}", STREAMERS, self._source, process)
        )

    def trouble(self) -> None:
        """Something befalls one member, or none."""
        member = self._draw.choice(self.members)
        what = self._draw.choice(("crash", "stall", "leave", "come", "nothing"))
        self._history.count(f"streams member: {what}")
        if what == "stall":
            member.stall(self._draw.randint(1000, 10_000))
        elif what == "come" and len(self.members) < 4:
            self._add()
        elif what in ("crash", "leave"):
            if what == "crash":
                member.crash()
            else:
                member.leaving = True
            self.members.remove(member)
            self._add()

    def unfinished(self) -> list[str]:
        """Tasks that nobody has, or more than one."""
        times = Counter(task for each in self.members for task in each.active)
        wanted = {(subtopology, index): 1 for subtopology in ("0", "1") for index in range(self._width)}
        return [] if times == wanted else [f"{STREAMERS} have {dict(times)}"]
