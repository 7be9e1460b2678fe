"""Legal chaos in a process of brokers: what befalls requests, and what befalls the cluster, by real means."""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import TYPE_CHECKING, Final

from pykbroker.brokers.broker import WrongBroker
from pykbroker.faults.chaos import Chaos, RequestChaos
from pykbroker.process.life import LifeEnded
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.process.life import Life
    from pykbroker.process.node import Node

log = logging.getLogger(__name__)

#: The mean pause between two things that befall the cluster, and how long a broker is down at least and at most, in seconds.
_PAUSE_S: Final = 3.0
_DOWN_S: Final = (0.5, 5.0)
_COORDINATORS: Final = ("__consumer_offsets", "__transaction_state")


class ChaosService:
    """Chaos beside the brokers of a process, in each of their lives anew, from ``open`` to ``close``."""

    def __init__(self, node: Node, chaos: Chaos) -> None:
        self._node = node
        self._chaos = chaos
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin."""
        log.warning(
            "Chaos by seed %d (%s): clients see what Apache Kafka may do to them", self._chaos.seed, self._chaos.profile
        )
        self._node.lifetimes.follow(self._begin)

    async def close(self) -> None:
        """End."""
        self._end()

    def _begin(self, life: Life) -> None:
        self._node.faults.begin_chaos(RequestChaos(self._chaos, _tell))
        self._task = asyncio.get_running_loop().create_task(self._run())
        life.at_end(self._end)

    def _end(self) -> None:
        self._node.faults.end_chaos()
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def _run(self) -> None:
        """Let things befall the cluster until it is quiet."""
        chaos, rng = self._chaos, Random(f"{self._chaos.seed}/cluster")
        outcomes = {each.name: each.share for each in chaos.outcomes() if each.fault is None}
        loop = asyncio.get_running_loop()
        end = None if chaos.quiet_after is None else loop.time() + chaos.quiet_after / 1000
        while True:
            pause = rng.expovariate(chaos.intensity / _PAUSE_S)
            if end is not None and loop.time() + pause >= end:
                await asyncio.sleep(max(0.0, end - loop.time()))
                self._node.faults.end_chaos()
                return
            await asyncio.sleep(pause)
            if outcomes:
                (name,) = rng.choices(list(outcomes), list(outcomes.values()))
                try:
                    await self._befall(name, rng)
                except (KafkaError, WrongBroker, LifeEnded, OSError) as error:
                    log.info("Chaos: %s does not happen: %s", name, error)

    async def _befall(self, name: str, rng: Random) -> None:
        cluster = self._node.cluster
        if name in ("leader moved", "coordinator moved"):
            movable = self._movable(of_coordinators=name == "coordinator moved")
            if movable:
                topic, number, partition = rng.choice(movable)
                to = rng.choice([each for each in partition.isr if each != partition.leader])
                _tell(f"{name}: {topic}-{number} from broker {partition.leader} to {to}")
                await self._node.lifetimes.outcome(cluster.controller.move_leader(topic, number, to))
            return
        if len(cluster.brokers) > 1:
            node_id = rng.choice(sorted(cluster.brokers))
            down_s = rng.uniform(*_DOWN_S)
            _tell(f"{name}: broker {node_id} for {down_s:.1f} s")
            await self._node.brokers.stop(node_id, abrupt=name == "broker lost")
            await asyncio.sleep(down_s)
            await self._node.brokers.start(node_id)

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


def _tell(what: str) -> None:
    log.info("Chaos: %s", what)
