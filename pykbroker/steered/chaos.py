"""Legal chaos in a process of brokers: what befalls requests, and what befalls the cluster, by real means."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from random import Random
from typing import IO, TYPE_CHECKING, Any, Final

from pykbroker.brokers.broker import WrongBroker
from pykbroker.faults.chaos import Chaos, RequestChaos
from pykbroker.faults.chaos_tape import LONGEST, ClusterOutcome, Decision, header, line
from pykbroker.process.life import LifeEnded
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.metadata.image import PartitionImage
    from pykbroker.process.life import Life
    from pykbroker.process.node import Node

log = logging.getLogger(__name__)

#: The mean pause between two things that befall the cluster, and how long a broker is down at least and at most, in seconds.
_PAUSE_S: Final = 3.0
_DOWN_S: Final = (0.5, 5.0)
#: The most lines of a tape that are shown.
MOST_LINES: Final = 1_000
_COORDINATORS: Final = ("__consumer_offsets", "__transaction_state")


class ChaosControl:
    """Chaos in a process of brokers: one that each life of the brokers begins with, or another one meanwhile."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._running: RunningChaos | None = None
        self._initial: Chaos | None = None
        self._record: Path | None = None
        self._leave = node.lifetimes.follow(self._began)

    def begin_each_life_with(self, chaos: Chaos, record: Path | None = None) -> None:
        """Begin now, and anew in each later life; ``record`` is a file that gets the tape, line by line. Raises OSError if it
        cannot be written, and BadChaos for a tape of other brokers.
        """
        self._record = record
        self.begin(chaos)
        self._initial = chaos

    def begin(self, chaos: Chaos) -> None:
        """Begin, in place of any other, until the present life of the brokers ends. Raises OSError, and BadChaos for a tape of
        other brokers, which leaves what there was.
        """
        chaos.check_brokers(self._node.cluster.metadata.image.brokers)
        self._begin(chaos)

    def _begin(self, chaos: Chaos) -> None:
        self.end()
        self._running = RunningChaos(self._node, chaos, self._record)

    def end(self) -> None:
        """End; what has begun goes on. Harmless when repeated."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def close(self) -> None:
        """End for good."""
        self._leave()
        self.end()

    def as_json(self) -> dict[str, Any]:
        """The chaos as text or None, how much befell, and its tape so far."""
        running = self._running
        if running is None:
            return {"chaos": None, "befell": 0, "tape": []}
        return {"chaos": str(running.chaos), "befell": len(running.befell), "tape": running.tape()}

    def _began(self, life: Life) -> None:
        life.at_end(self.end)
        if self._initial is not None:
            self._begin(self._initial)


class RunningChaos:
    """One chaos, from its construction to its end."""

    def __init__(self, node: Node, chaos: Chaos, record: Path | None = None) -> None:
        """Raises OSError if the tape cannot be written."""
        self._node = node
        self.chaos = chaos
        self._file: IO[str] | None = None if record is None else record.open("w", encoding="utf-8")
        self._rng = Random(f"{chaos.seed}/cluster")
        #: What has befallen, the first LONGEST of it.
        self.befell: list[Decision] = []
        log.warning("Chaos %s: clients see what Apache Kafka may do to them", chaos)
        self._write(header(str(chaos)))
        node.faults.begin_chaos(RequestChaos(chaos, self._tell))
        self._task = asyncio.get_running_loop().create_task(self._run())

    def end(self) -> None:
        """Nothing more befalls anybody."""
        self._node.faults.end_chaos()
        self._task.cancel()
        if self._file is not None:
            self._file.close()
            self._file = None

    def tape(self) -> list[str]:
        """The lines of its tape, the last MOST_LINES of them."""
        return [header(str(self.chaos)), *map(line, self.befell[-MOST_LINES:])]

    async def _run(self) -> None:
        """Let things befall the cluster until it is quiet."""
        async for at_ms, decision in self._moments():
            try:
                await self._befall(decision or self._drawn(at_ms))
            except (KafkaError, WrongBroker, LifeEnded, OSError) as error:
                log.info("Chaos: %s does not happen: %s", decision or "what was drawn", error)
        self._node.faults.end_chaos()

    async def _moments(self) -> AsyncIterator[tuple[int, ClusterOutcome | None]]:
        """The moments at which something befalls the cluster, in milliseconds since the start; by a tape with what does. It ends when
        nothing more befalls anybody.
        """
        loop, chaos = asyncio.get_running_loop(), self.chaos
        begun = loop.time()
        planned = chaos.planned()
        if planned is not None:
            for each in planned:
                await asyncio.sleep(max(0.0, begun + each.at_ms / 1000 - loop.time()))
                yield each.at_ms, each
            await asyncio.Event().wait()  # requests have their part of the tape whenever they come
        end = None if chaos.quiet_after is None else begun + chaos.quiet_after / 1000
        while True:
            pause = self._rng.expovariate(chaos.intensity / _PAUSE_S)
            if end is not None and loop.time() + pause >= end:
                await asyncio.sleep(max(0.0, end - loop.time()))
                return
            await asyncio.sleep(pause)
            yield round((loop.time() - begun) * 1000), None

    def _drawn(self, at_ms: int) -> ClusterOutcome | None:
        """What the seed has befall the cluster now; None if that cannot be in its present state."""
        outcomes = {each.name: each.share for each in self.chaos.outcomes() if each.fault is None}
        if not outcomes:
            return None
        rng = self._rng
        (name,) = rng.choices(list(outcomes), list(outcomes.values()))
        cluster = self._node.cluster
        if name in ("leader moved", "coordinator moved"):
            movable = self._movable(of_coordinators=name == "coordinator moved")
            if not movable:
                return None
            topic, number, partition = rng.choice(movable)
            to = rng.choice([each for each in partition.isr if each != partition.leader])
            return ClusterOutcome(at_ms, name, to, topic, number)
        if len(cluster.brokers) < 2:
            return None
        node_id = rng.choice(sorted(cluster.brokers))
        return ClusterOutcome(at_ms, name, node_id, down_ms=round(1000 * rng.uniform(*_DOWN_S)))

    async def _befall(self, decision: ClusterOutcome | None) -> None:
        if decision is None:
            return
        self._tell(decision)
        if decision.topic:
            moving = self._node.cluster.controller.move_leader(decision.topic, decision.partition, decision.broker)
            await self._node.lifetimes.outcome(moving)
            return
        await self._node.brokers.stop(decision.broker, abrupt=decision.outcome == "broker lost")
        await asyncio.sleep(decision.down_ms / 1000)
        await self._node.brokers.start(decision.broker)

    def _movable(self, *, of_coordinators: bool) -> list[tuple[str, int, PartitionImage]]:
        """Partitions that another broker in sync could lead, in order."""
        topics = self._node.cluster.metadata.image.topics
        return [
            (name, number, partition)
            for name, topic in sorted(topics.items())
            if (name in _COORDINATORS) == of_coordinators
            for number, partition in sorted(topic.partitions.items())
            if any(each != partition.leader for each in partition.isr)
        ]

    def _tell(self, what: Decision) -> None:
        log.info("Chaos: %s", what)
        if len(self.befell) < LONGEST:
            self.befell.append(what)
            self._write(line(what))

    def _write(self, text: str) -> None:
        if self._file is not None:
            print(text, file=self._file, flush=True)
